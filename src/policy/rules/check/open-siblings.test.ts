import { expect, test } from "vitest"
import type { PolicyRule } from "../../../contract/policy.ts"
import { openSiblings, openToCommands } from "./open-siblings.ts"

const notesOn = (...rules: PolicyRule[]) =>
  openSiblings(
    rules.map((rule, index) => ({ name: `rules[${index}]`, rule })),
    "ask",
  ).map(({ rule, note }) => `${rule} ${note}`)

test("a refusal by tool name leaves other tools open that use the same paths", () => {
  expect(notesOn({ deny: { tool: ["Read", "Write"], path: "secrets/**" } })).toEqual([
    "rules[0] leaves these paths open to Edit, MultiEdit, ApplyPatch, NotebookEdit, Bash: use `path` instead of `tool` and `path`",
  ])
})

test("a refusal by tool name leaves other tools open that fetch the same addresses", () => {
  expect(notesOn({ deny: { tool: "WebFetch", url: "*://evil.example/**" } })).toEqual([
    "rules[0] leaves these addresses open to Bash, ApiCall: use `fetch` instead of `tool` and `url`",
  ])
})

test("a refusal of a tool leaves others open that do the same", () => {
  expect(notesOn({ ask: { tool: ["Write", "Edit"] } })).toEqual([
    'rules[0] leaves writing open to MultiEdit, ApplyPatch, NotebookEdit, Bash: use `write: "**"` instead of `tool`',
  ])
  expect(notesOn({ deny: { tool: "WebFetch" } })).toEqual([
    'rules[0] leaves fetching open to Bash, WebSearch, ApiCall: use `fetch: "*://*/**"` instead of `tool`',
  ])
})

test("nothing is open where rules together refuse all tools, or speak of what is done, or of one tool's own arguments", () => {
  expect(notesOn({ deny: { path: "secrets/**" } }, { deny: { fetch: "*://*/**" } }, { deny: { tool: "*" } })).toEqual(
    [],
  )
  expect(
    notesOn(
      { deny: { tool: "WebFetch", url: "*://a.example/**" } },
      { ask: { tool: "*", url: "*://a.example/**" } },
      { deny: { tool: "Bash", command: "curl **" } },
      { deny: { tool: "Bash" } },
      { deny: { tool: "WebFetch", args: { "/url": "x" } } },
    ),
  ).toEqual([])
})

test("what rules about paths cannot keep from commands is said of those that are about commands, too", () => {
  const noted = (...rules: PolicyRule[]) =>
    openToCommands(rules.map((rule, index) => ({ name: `rules[${index}]`, rule }))).map(({ rule }) => rule)
  const path = "secrets/**"
  const about = [{ deny: { path } }, { ask: { read: path } }, { deny: { tool: ["Read", "Bash"], path } }]
  expect([...new Set(noted(...about))]).toEqual(["rules[0]", "rules[1]", "rules[2]"])
  expect(noted({ deny: { tool: "Read", path } }, { deny: { tool: "Bash" } }, { allow: { path } })).toEqual([])
})
