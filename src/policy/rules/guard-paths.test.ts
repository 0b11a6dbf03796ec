import { expect, test } from "vitest"
import { policyCall } from "../../../test/support/policy-scene.ts"
import type { PolicyDocument } from "../../contract/policy.ts"
import { mayRead } from "../../lib/access/file-guard.ts"
import { ruledBy } from "../rule-decision.ts"
import { compileRules } from "./compile-rules.ts"

/** The guard of a call that the rules have decided. */
async function guardOf(document: PolicyDocument, call = policyCall("Read", { path: "src/a" })) {
  const rules = await compileRules([{ document, source: "test" }])
  const guard = await rules.guard(call, ruledBy(await rules.decide(call)))
  return (real: string, access: "read" | "write" = "read") => {
    if (access === "read") return guard === undefined || mayRead(guard, real)
    return !doesThrow(() => guard?.(real, access))
  }
}

function doesThrow(work: () => void): boolean {
  try {
    work()
    return false
  } catch {
    return true
  }
}

test("what a call opens must be permitted as its path was", async () => {
  const may = await guardOf({ default: "deny", rules: [{ allow: { read: "src/**" } }] })
  expect(may("/ws/src/a")).toBe(true)
  expect(may("/ws/other/a")).toBe(false)
  expect(may("/elsewhere")).toBe(false)
})

test("a permission to search a folder is one for what is below it, and for files above that say what to ignore", async () => {
  const search = policyCall("Grep", { pattern: "x", path: "src" })
  const may = await guardOf({ default: "deny", rules: [{ allow: { tool: "Grep", path: "src" } }] }, search)
  expect(may("/ws/src/deep/a")).toBe(true)
  expect(may("/ws/.gitignore")).toBe(true)
  expect(may("/ws/other/a")).toBe(false)
})

test("without rules for paths there is nothing to check", async () => {
  const rules = await compileRules([{ document: { rules: [{ deny: { exec: "rm **" } }] }, source: "test" }])
  expect(await rules.guard(policyCall("Read", { path: "a" }), { verdict: undefined, asked: [] })).toBeUndefined()
})

test("a refusal to write does not keep a file from being read, nor the other way round", async () => {
  const edit = policyCall("Edit", { path: "src/a", oldText: "a", newText: "b" })
  const unwritable = await guardOf({ default: "allow", rules: [{ deny: { write: "lock" } }] }, edit)
  expect([unwritable("/ws/lock"), unwritable("/ws/lock", "write")]).toEqual([true, false])
  const unreadable = await guardOf({ default: "allow", rules: [{ deny: { read: "key" } }] }, edit)
  expect([unreadable("/ws/key"), unreadable("/ws/key", "write")]).toEqual([false, true])
})

test("a rule that asked about the call does not refuse what it opens, another one does", async () => {
  const rules = [{ ask: { read: "src/**" } }, { ask: { read: "other/**" } }]
  const may = await guardOf({ default: "allow", rules })
  expect(may("/ws/src/b")).toBe(true)
  expect(may("/ws/other/b")).toBe(false)
})
