import { expect, test } from "vitest"
import { openPermissions } from "./open-permissions.ts"

const notesOn = (command: string) => openPermissions([{ name: "rules[0]", rule: { allow: { tool: "Bash", command } } }])

test.each([
  ["*", "the star stands for any program, also one that the agent has written"],
  ["./bin/* --version", "the star stands for any program, also one that the agent has written"],
  ["python3 *", "python3 runs any code that it is given, and any file that the agent can write"],
  ["/usr/bin/node *", "node runs any code that it is given, and any file that the agent can write"],
  ["npm test", "npm runs scripts from files of the workspace, with everything they do"],
  ["find . *", "options of find can start other programs"],
  ["git *", "git can start other programs, by its configuration too"],
])("a permission for the command %s allows more than it looks: %s", (command, note) => {
  expect(notesOn(command)).toEqual([{ rule: "rules[0]", note: `allows ${JSON.stringify(command)}: ${note}` }])
})

test.each(["ls *", "git status", "cat notes.md"])(
  "a permission for the command %s allows what it looks like",
  (command) => {
    expect(notesOn(command)).toEqual([])
  },
)

test("a permission for all commands says so, unless it is for certain paths", () => {
  const notes = (rule: object) => openPermissions([{ name: "rules[0]", rule: { allow: { tool: "Bash", ...rule } } }])
  expect(notes({})).toEqual([{ rule: "rules[0]", note: "allows every command that can be read" }])
  expect(notes({ path: "notes/**" })).toEqual([])
})

test("a permission for tools that run no commands has no note", () => {
  expect(openPermissions([{ name: "rules[0]", rule: { allow: { tool: "Read" } } }])).toEqual([])
})
