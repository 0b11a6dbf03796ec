import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { place, longhaul, json } = commandLine()

const policy = `version: 1
default: ask
rules:
  - deny: { tool: Bash, command: "git push ** --force **" }
    reason: History is not rewritten.
  - allow: { tool: Bash, command: [git status, "git diff *", npm test, "python *"] }
  - allow: { tool: Read, path: "**" }
  - deny: { tool: Read, path: "secrets/**" }
tests:
  - { call: { tool: Bash, args: { command: "git status && curl x" } }, expect: ask }
`

const write = (name: string, text: string) => writeFile(join(place.workspace, name), text)
const explain = (call: object, ...more: string[]) =>
  longhaul(["policy", "explain", JSON.stringify(call), "--policy", "team.yaml", ...more])

test("policy check lists the rules and says what permissions for interpreters and task runners really allow", async () => {
  await write("team.yaml", policy)
  const { code, stdout } = await longhaul(["policy", "check", "team.yaml"])
  expect(code).toBe(0)
  expect(stdout).toContain("team.yaml is valid. 1 test passed.")
  expect(stdout).toContain('deny: { tool: Bash, command: "git push ** --force **" }')
  expect(stdout).toContain("otherwise: ask")
  expect(stdout).toContain('rules[1] of team.yaml allows "npm test": npm runs scripts from files of the workspace')
  expect(stdout).toContain('rules[1] of team.yaml allows "python *": python runs any code')
  expect(stdout).not.toContain('allows "git status"')
  expect(await json(["policy", "check", "--json", "team.yaml"])).toMatchObject({
    valid: true,
    default: "ask",
    tests: 1,
    notes: [{ rule: "rules[1] of team.yaml" }, { rule: "rules[1] of team.yaml" }],
  })
})

test("policy check says which tools a refusal by tool name leaves open", async () => {
  await write("team.yaml", "default: ask\nrules:\n  - deny: { tool: [Read, Write], path: secrets/** }\n")
  const { stdout } = await longhaul(["policy", "check", "team.yaml"])
  expect(stdout).toContain("What these refusals leave open:")
  expect(stdout).toContain(
    "rules[0] of team.yaml leaves these paths open to Edit, MultiEdit, ApplyPatch, NotebookEdit, Bash",
  )
  expect(stdout).toContain("use `path` instead of `tool` and `path`.")
  await write("team.yaml", "default: ask\nrules:\n  - deny: { path: secrets/** }\n")
  const checked = (await longhaul(["policy", "check", "team.yaml"])).stdout
  expect(checked).not.toContain("leave open")
  expect(checked).toContain("What these refusals cannot keep from commands:")
  expect(checked).toContain("`npm test` can use these paths")
  expect(checked).toContain("earlier versions in git (`git show HEAD:…`)")
})

test("policy check reports every problem with its place and exits with 1", async () => {
  await write("team.yaml", "rules:\n  - denny: { tool: Bash }\n  - deny: { tool: Deploy }\n")
  const { code, stderr } = await longhaul(["policy", "check", "team.yaml"])
  expect(code).toBe(1)
  expect(stderr).toContain('- rules[0] has an unknown key "denny".')
  expect(stderr).toContain('rules[0]: Did you mean "deny"?')
  expect(stderr).toContain('- rules[1].deny.tool names an unknown tool "Deploy".')
  await write("team.yaml", "rules:\n  - deny: { tool: Deploy }\n")
  expect((await longhaul(["policy", "check", "team.yaml", "--tool", "Deploy"])).code).toBe(0)
})

test("policy test runs the table of a file, or of the file that is found", async () => {
  await write("longhaul.policy.yaml", `${policy}  - { call: { tool: Write }, expect: allow }\n`)
  const { code, stdout } = await longhaul(["policy", "test"])
  expect(code).toBe(1)
  expect(stdout).toContain("passed  tests[0] of longhaul.policy.yaml")
  expect(stdout).toMatch(/FAILED {2}tests\[1\] .* → expected allow, is ask/)
  expect(stdout).toContain("2 tests, 1 failed.")
  await write("team.yaml", policy)
  expect(await json(["policy", "test", "--json", "team.yaml"])).toMatchObject({
    failed: 0,
    results: [{ passed: true }],
  })
  expect((await longhaul(["policy", "check", "longhaul.policy.yaml"])).stderr).toContain("fails its own tests")
})

test("policy explain shows the deciding rule, every other rule and each command with its verdict", async () => {
  await write("team.yaml", policy)
  const { code, stdout } = await explain({
    tool: "Bash",
    args: { command: "git status && git -C x push --force > log" },
  })
  expect(code).toBe(0)
  expect(stdout).toContain("Verdict  deny")
  expect(stdout).toContain("because of rules[0] of team.yaml: History is not rewritten.")
  expect(stdout).toContain('deny: { tool: Bash, command: "git push ** --force **" }')
  expect(stdout).toMatch(/allow {2}git status {2}\(rules\[1\] of team\.yaml\)/)
  expect(stdout).toMatch(/deny {3}git -C x push --force {2}\(rules\[0\] of team\.yaml\)/)
  expect(stdout).toMatch(/ask {4}Write log {2}\(No rule applies/)
  expect(stdout).toMatch(/Also .*\n +allow {2}rules\[1\] of team\.yaml: allow:/)
})

test("policy explain resolves links and says why a line cannot be read", async () => {
  await write("team.yaml", policy)
  await mkdir(join(place.workspace, "secrets"))
  const { symlink } = await import("node:fs/promises")
  await symlink("secrets", join(place.workspace, "innocent"))
  expect(JSON.parse((await explain({ tool: "Read", args: { path: "innocent/key" } }, "--json")).stdout)).toMatchObject({
    verdict: "deny",
    reasons: [
      { rule: "rules[3] of team.yaml", content: { deny: { tool: "Read" } } },
      { rule: "rules[2] of team.yaml" },
    ],
  })
  const unreadable = await explain({ tool: "Bash", args: { command: "git status $(" } })
  expect(unreadable.stdout).toContain("Verdict  ask")
  expect(unreadable.stdout).toContain("The command line cannot be read: ")
})

test("policy explain uses a found file as a run does: it can only restrict", async () => {
  await write("longhaul.policy.yaml", policy)
  const { stdout } = await longhaul(["policy", "explain", '{"tool":"Bash","args":{"command":"git status"}}'])
  expect(stdout).toContain("ignored: rules[1] of longhaul.policy.yaml, since the file was found and not named")
  expect(stdout).toContain("Verdict  ask")
})

test("policy explain shows hidden characters of a call", async () => {
  await write("team.yaml", policy)
  const { stdout } = await explain({ tool: "Bash", args: { command: "git status \u202e\u001b[31m" } })
  for (const hidden of ["\u202e", "\u001b"]) expect(stdout).not.toContain(hidden)
})

test("policy import prints a policy that is valid, and reports the rest", async () => {
  const permissions = { allow: ["Bash(npm run test:*)", "Write(x)"], deny: ["Read(.env)"] }
  await write("settings.json", JSON.stringify({ permissions }))
  const { code, stdout, stderr } = await longhaul(["policy", "import", "settings.json"])
  expect(code).toBe(0)
  expect(stderr).toContain("2 of 3 rules were translated.")
  expect(stderr).toContain("allow: Write(x): ")
  await write("longhaul.policy.yaml", stdout)
  expect(await readFile(join(place.workspace, "longhaul.policy.yaml"), "utf8")).toContain("npm run test *")
  expect((await longhaul(["policy", "check", "longhaul.policy.yaml"])).code).toBe(0)
})

test.each([
  [[], "Missing subcommand"],
  [["chek"], "Did you mean check?"],
  [["check"], "Missing argument"],
  [["explain", "{"], "The call is not JSON"],
  [["explain", "[]"], "The call is not an object"],
  [["explain", '{"args":{}}'], "tool of the call is not a string"],
  [["explain", '{"tool":"Read"}'], "No policy file was found"],
  [["test"], "No policy file was found"],
  [["import", "none.json"], "Could not read none.json"],
  [["check", "a", "b"], "Unexpected argument"],
])("policy %j is a usage error", async (args, message) => {
  const { code, stderr } = await longhaul(["policy", ...args])
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})

test("policy explain rejects an unknown key of the call", async () => {
  const { code, stderr } = await explain({ tool: "Read", arg: {} })
  expect([code, stderr]).toEqual([1, expect.stringContaining('Did you mean "args"?')])
})
