import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import { fileSamples } from "../../../test/support/tool-samples.ts"
import type { PolicyCall } from "../../contract/policy.ts"
import { openSiblings } from "./check/open-siblings.ts"
import { compileRules } from "./compile-rules.ts"
import { writers } from "./known-tools.ts"
import { presets } from "./presets.ts"

const bash = policyCall("Bash", { command: "ls" })
const unreadable = policyCall("Bash", { command: "ls $(" })
const calls: readonly (readonly [name: string, call: PolicyCall])[] = [
  ["read a file", policyCall("Read", { path: "a" })],
  ["search without a path", policyCall("Grep", { pattern: "x" })],
  ["read outside the workspace", policyCall("Read", { path: "/etc/passwd" })],
  ["read .env", policyCall("Read", { path: ".env" })],
  ["write a file", policyCall("Write", { path: "a" })],
  ["write outside the workspace", policyCall("Write", { path: "../a" })],
  ["write .git/config", policyCall("Write", { path: ".git/config" })],
  ["write the policy", policyCall("Edit", { path: "LONGHAUL.policy.yaml" })],
  ["write .env", policyCall("Write", { path: "sub/.env.local" })],
  ["write .env.example", policyCall("Write", { path: ".env.example" })],
  ["run a command", bash],
  ["run a command in a sandbox", { ...bash, sandboxed: true }],
  [
    "run a command with a variable and a computed target in a sandbox",
    { ...policyCall("Bash", { command: "A=b ls > $X" }), sandboxed: true },
  ],
  ["run an unreadable line", unreadable],
  ["run an unreadable line in a sandbox", { ...unreadable, sandboxed: true }],
  [
    "write .git/config by a redirect in a sandbox",
    { ...policyCall("Bash", { command: "echo a > .git/config" }), sandboxed: true },
  ],
  ["fetch a page", policyCall("WebFetch", { url: "https://example.com/" })],
  ["call an MCP tool", policyCall("mcp:a/b")],
  ["list its tasks", policyCall("TaskList")],
]

describe.each([
  ["read-only", "allow allow allow allow deny deny deny deny deny deny deny deny deny deny deny deny deny deny allow"],
  ["workspace-write", "allow allow ask deny allow ask deny deny deny allow ask ask ask ask ask deny ask ask allow"],
  ["autonomous", "allow allow ask deny allow ask deny deny deny allow ask allow allow ask allow deny ask ask allow"],
  ["locked-down", "deny deny deny deny deny deny deny deny deny deny deny deny deny deny deny deny deny deny deny"],
])("the preset %s", (preset, verdicts) => {
  const expected = verdicts.split(" ")
  test.each(calls.map(([name, call], index) => [expected[index] ?? "", name, call] as const))(
    "the preset decides %s for: %s",
    async (verdict, _, call) => {
      expect(await verdictOf({ extends: preset }, call)).toBe(verdict)
    },
  )
})

test("a locked-down policy can allow readers of named paths and nothing else", async () => {
  const document = { extends: "locked-down", rules: [{ allow: { tool: ["Read", "Grep"], path: "docs/**" } }] }
  expect(await verdictOf(document, policyCall("Read", { path: "docs/a" }))).toBe("allow")
  expect(await verdictOf(document, policyCall("Read", { path: "docs/../a" }))).toBe("deny")
  expect(await verdictOf(document, policyCall("Grep", { pattern: "x" }))).toBe("deny")
  const more = { ...document, rules: [{ allow: { tool: "Wr*" } }] }
  expect(await verdictOf(more, policyCall("Write", { path: "docs/a" }))).toBe("deny")
})

const secret = [".env", "sub/.env.local", ".envrc"]
const governing = [
  ...[".git/config", "sub/.git/hooks/pre-commit", ".longhaul/x", "longhaul.config.ts", "longhaul.policy.yaml"],
  ...[".claude/settings.json", ".codex/config.toml", ".cursor/mcp.json", ".gemini/settings.json"],
  ...[".vscode/tasks.json", ".idea/workspace.xml", ".husky/pre-commit", ".npmrc", ".mcp.json"],
]
const samples = await fileSamples()

/** What the tools of the library, and one whose use is unknown, can do with a file. */
function callsThat(can: "read" | "write", path: string): readonly PolicyCall[] {
  const known = samples.flatMap((sample) => {
    const args = JSON.stringify(sample.args(path, "FOLDER")).replaceAll(/FOLDER(\/a\/b)?\/new/g, path)
    // What a search of a folder shows is not decided by its words.
    return sample.can.includes(can) && !args.includes("FOLDER") ? [policyCall(sample.tool, JSON.parse(args))] : []
  })
  return [...known, ...["path", "file_path", "target"].map((name) => policyCall("mcp:a/b", { [name]: path }))]
}

async function openCalls(preset: string, calls: readonly PolicyCall[]): Promise<readonly unknown[]> {
  const open: unknown[] = []
  for (const call of calls) {
    const verdict = await verdictOf({ extends: preset }, call)
    if (verdict !== "deny") open.push([verdict, call.tool, call.args])
  }
  return open
}

test("control: every way to write a file is tried", () => {
  const tried = new Set(callsThat("write", "x").map(({ tool }) => tool))
  expect([...tried].sort()).toEqual([...writers, "mcp:a/b"].sort())
  expect(JSON.stringify(callsThat("write", "x"))).toContain("*** Move to: x")
})

describe.each(Object.keys(presets))("the preset %s leaves no tool open", (preset) => {
  test.each([...secret, ...governing])("the preset leaves no tool open to write %s", async (path) => {
    expect(await openCalls(preset, callsThat("write", path))).toEqual([])
  })

  test("the preset leaves no tool open that can do what it refuses to others by their names", async () => {
    const rules = await compileRules([{ document: { extends: preset }, source: "test" }])
    expect(openSiblings(rules.all, rules.default)).toEqual([])
  })
})

// The preset for reading allows it everywhere.
describe.each(Object.keys(presets).filter((preset) => preset !== "read-only"))(
  "the preset %s leaves no tool open",
  (preset) => {
    test.each(secret)("the preset leaves no tool open to read %s", async (path) => {
      expect(await openCalls(preset, callsThat("read", path))).toEqual([])
    })
  },
)
