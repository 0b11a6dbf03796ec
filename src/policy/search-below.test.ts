import { expect, test } from "vitest"
import { linkedFiles, policyCall } from "../../test/support/policy-scene.ts"
import type { Files } from "../contract/env.ts"
import type { Json } from "../contract/json.ts"
import type { ApprovalDecision, Policy } from "../contract/policy.ts"
import { toolPolicy } from "./local.ts"
import type { PolicyHost } from "./policies.ts"
import { notRuled } from "./restrict-environment.ts"
import { compileRules } from "./rules/compile-rules.ts"
import { showsHidden } from "./search-below.ts"

const tree: Readonly<Record<string, readonly string[]>> = {
  "/ws": ["src/", "secrets/", "a.txt", "linked@"],
  "/ws/src": ["b.ts", "deep/"],
  "/ws/src/deep": ["c.ts"],
  "/ws/lib": [".env"],
  "/ws/lib/x": ["key.pem"],
  "/ws/docs": ["own/"],
  "/ws/docs/own": ["deep/"],
  "/ws/docs/own/deep": ["key.pem"],
}

/** Only lists. */
const files = {
  async list(path: string) {
    const names = tree[path]
    if (names === undefined) throw new Error("not a folder")
    return names.map((name) => ({
      name: name.replace(/[/@]$/, ""),
      kind: name.endsWith("/") ? "folder" : name.endsWith("@") ? "link" : "file",
    }))
  },
  // Safe: nothing else is called.
} as unknown as Files

const document = { rules: [{ deny: { tool: "Read", path: ["secrets/**", "**/.env", "**/*.pem"] } }] }
const rules = await compileRules([{ document, source: "test" }])
const shows = (tool: string, args: Json, given: Files | undefined = files) =>
  showsHidden(
    policyCall(tool, args),
    rules,
    notRuled,
    given,
    linkedFiles({ "/ws/vault": "/ws/secrets", "/ws/way": "/ws/lib" }),
  )

test.each<[string, Json]>([
  ["Grep", { pattern: "KEY" }],
  ["Grep", { pattern: "KEY", path: "." }],
  ["Grep", { pattern: "KEY", path: "/ws" }],
  ["Grep", { pattern: "KEY", path: "src/.." }],
  ["Grep", { pattern: "KEY", path: "secrets" }],
  ["Grep", { pattern: "KEY", path: "secrets/key" }],
  ["Grep", { pattern: "KEY", path: "vault" }],
  ["Grep", { pattern: "KEY", path: ["src"], file_path: "lib" }],
  ["Grep", { pattern: "KEY", path: "docs" }],
  ["Grep", { pattern: "KEY", path: 7 }],
  ["Glob", { pattern: "**/*" }],
  ["Glob", { pattern: "secrets/*" }],
  ["Glob", { pattern: "lib/*" }],
  ["Glob", { pattern: "{src,secrets}/*" }],
  ["Glob", { pattern: "src/../secrets/*" }],
  ["Glob", { pattern: "*", path: "lib" }],
  ["List", { path: "lib" }],
  ["List", {}],
])("a vendor's %s %j does not run where it would show a hidden path", async (tool, args) => {
  expect(await shows(tool, args)).toBeDefined()
})

test.each<[string, Json]>([
  ["Grep", { pattern: "KEY", path: "src" }],
  ["Grep", { pattern: "KEY", path: "a.txt" }],
  ["Glob", { pattern: "src/**/*.ts" }],
  ["Glob", { pattern: "*.ts", path: "src/deep" }],
  ["Read", { path: "a.txt" }],
  ["Bash", { command: "ls" }],
])("a vendor's %s %j runs where nothing is hidden", async (tool, args) => {
  expect(await shows(tool, args)).toBeUndefined()
})

test("a search does not run if it is not known what is there", async () => {
  const open = await compileRules([{ document: { rules: [{ allow: { tool: "*" } }] }, source: "test" }])
  const call = policyCall("Grep", { pattern: "KEY", path: "src" })
  expect(await showsHidden(call, rules, notRuled, undefined)).toContain("not known")
  expect(await showsHidden(call, open, notRuled, undefined)).toBeUndefined()
})

test("a search of a folder with too many entries does not run", async () => {
  const many = Array.from({ length: 60_000 }, (_, index) => ({ name: `f${index}`, kind: "file" as const }))
  // Safe: nothing else is called.
  const endless = { list: async () => many } as unknown as Files
  expect(await shows("Grep", { pattern: "KEY", path: "src" }, endless)).toContain("too much")
})

test("the policy of tools that other software runs refuses such a search, and one whose folder it cannot list", async () => {
  const resolvePath = async (path: string) => path
  const host = { resolvePath, listFolder: (path: string) => files.list(path, "/ws") }
  const rules = [...document.rules, { allow: { tool: "*" } }]
  const decide = (path: string, given: PolicyHost) =>
    toolPolicy({ rules }, { workspace: "/ws", host: given }).preTool({
      ...{ sessionId: "s", toolName: "Grep" },
      toolInput: { pattern: "KEY", path },
    })
  expect(await decide(".", host)).toMatchObject({ decision: "deny" })
  expect(await decide("src", host)).toMatchObject({ decision: "allow" })
  expect(await decide("src", { resolvePath })).toMatchObject({ decision: "deny" })
})

test.each<readonly [string, Policy]>([
  ["a path", { rules: [{ deny: { path: "secrets/**" } }] }],
  ["a path in an exception", { rules: [{ deny: { tool: "Read" }, except: { path: "docs/**" } }] }],
  ["what is read", { rules: [{ allow: { read: "docs/**" } }] }],
  ["what is written, in a document", { documents: [{ document: { rules: [{ ask: { write: "**" } }] }, source: "x" }] }],
  ["paths in a preset", { extends: "workspace-write" }],
])("rules about %s need a host that resolves links, or the policy of other software is refused", (_, policy) => {
  expect(() => toolPolicy(policy, { workspace: "/ws" })).toThrow(expect.objectContaining({ code: "config_invalid" }))
  expect(() => toolPolicy(policy, { workspace: "/ws", host: { resolvePath: async (path) => path } })).not.toThrow()
})

test("a policy file needs a host that resolves links, too, since its rules are not known yet", () => {
  const readFile = async () => []
  const policy = { file: "longhaul.policy.yaml" }
  expect(() => toolPolicy(policy, { workspace: "/ws", host: { readFile } })).toThrow("no host that resolves links")
  const host = { readFile, resolvePath: async (path: string) => path }
  expect(() => toolPolicy(policy, { workspace: "/ws", host })).not.toThrow()
})

test("a link that is made while a person is asked refuses the call of another framework", async () => {
  for (const refusal of [{ deny: { path: "secrets/**" } }, { ask: { read: "secrets/**" } }]) {
    let target = "/ws/plain"
    const resolvePath = async (path: string) => path.replace(/^\/ws\/x(?=\/|$)/, target)
    const onAsk = () => {
      target = "/ws/secrets"
      return { decision: "approve" } as const
    }
    const rules = [{ ask: { read: "plain/**" } }, refusal]
    const policy = toolPolicy({ default: "allow", rules, onAsk }, { workspace: "/ws", host: { resolvePath } })
    const use = { sessionId: "s", toolName: "Read", toolInput: { file_path: "x/key" } }
    expect(await policy.preTool(use)).toMatchObject({ decision: "deny" })
  }
})

test.each<readonly [string, ApprovalDecision, string]>([
  ["answers with words", { decision: "answer", text: "Use another file." }, "Use another file."],
  ["wants to pause", { decision: "pause" }, "Nothing can pause here."],
])("a callback that %s permits no call of another framework", async (_, given, reason) => {
  const policy = toolPolicy({ rules: [{ ask: { tool: "act" } }], onAsk: () => given }, { workspace: "/ws" })
  const verdict = await policy.preTool({ sessionId: "s", toolName: "act", toolInput: {} })
  expect(verdict).toEqual({ decision: "deny", reason: expect.stringContaining(reason) })
})
