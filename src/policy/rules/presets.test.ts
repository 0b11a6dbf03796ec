import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import type { PolicyCall } from "../../contract/policy.ts"

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
    "%s: %s",
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
