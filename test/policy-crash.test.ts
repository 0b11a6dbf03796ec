import { describe, expect, test } from "vitest"
import type { RunRecord } from "../src/contract/event.ts"
import type { Json } from "../src/contract/json.ts"
import type { Policy } from "../src/contract/policy.ts"
import type { Store } from "../src/contract/store.ts"
import { act, acting, asker, leaveRun, pauses, processOver, recordsOf, stores, upTo } from "./support/approval-scene.ts"

/** Runs a call to its end, then leaves the run `r` as a process that died after the last record of a type. */
async function crashedAfter(type: RunRecord["type"], store: Store, policy: Policy, more: object = {}): Promise<void> {
  const first = processOver(store, [act({ usd: 5000 }), "end"], { policy, tools: [acting([], more)] })
  const { status } = await first.runtime.run({ task: "go", runId: "whole" })
  if (status === "paused") await first.runtime.resume({ runId: "whole", decision: "approve", args: { usd: 5 } })
  await leaveRun(store, "r", upTo(await recordsOf(first.runtime, "whole"), type))
}

/** Another process recovers the run. */
async function recovered(store: Store, policy: Policy, more: object = {}) {
  const ran: Json[] = []
  const { runtime } = processOver(store, ["end"], { policy, tools: [acting(ran, more)] })
  return { ran, runtime, result: await runtime.resume({ runId: "r" }) }
}

const repeatable = { effect: "repeatable" }
const rewriting: Policy = { rules: [{ allow: { tool: "act" }, set: { "/usd": 5 } }] }
const edits = { decision: "approve", args: { usd: 5 } } as const

describe.each(stores)("a process that dies with a store in %s", (_name, newStore) => {
  test("a run that dies after the intent of a repeatable call that the policy rewrote repeats it with the rewritten arguments", async () => {
    const store = newStore()
    await crashedAfter("tool-intent", store, rewriting, repeatable)
    const { ran, result } = await recovered(store, rewriting, repeatable)
    expect([ran, result.toolCalls[0]?.status]).toEqual([[{ usd: 5 }], "ok"])
  })

  test("a run that dies after the decision and before the intent asks the policy again", async () => {
    const store = newStore()
    await crashedAfter("policy-decision", store, rewriting)
    const { ran } = await recovered(store, { rules: [{ allow: { tool: "act" }, set: { "/usd": 6 } }] })
    expect(ran).toEqual([{ usd: 6 }])
  })

  test.each<[string, Policy]>([
    ["denies", { rules: [{ deny: { tool: "act" } }] }],
    [
      "fails",
      { services: [{ decide: () => Promise.reject(new Error("down")), scan: async () => ({ decision: "allow" }) }] },
    ],
  ])(
    "a repeatable call that was lost after its intent is flagged as unknown if the policy %s now",
    async (_what, policy) => {
      const store = newStore()
      await crashedAfter("tool-intent", store, rewriting, repeatable)
      const { ran, result } = await recovered(store, policy, repeatable)
      expect([ran, result.toolCalls[0]?.status]).toEqual([[], "unknown"])
    },
  )

  test("a repeatable call that was lost after its intent is asked about if the policy rewrites it otherwise now", async () => {
    const store = newStore()
    await crashedAfter("tool-intent", store, rewriting, repeatable)
    const other: Policy = { rules: [{ allow: { tool: "act" }, set: { "/usd": 6 } }] }
    const { ran, result } = await recovered(store, other, repeatable)
    expect([ran, result.status, result.pause?.pendingToolCall?.args]).toEqual([[], "paused", { usd: 5 }])
  })

  test("a run that dies while a callback is asked asks again, and runs the call once", async () => {
    const store = newStore()
    await crashedAfter("approval-request", store, { onAsk: asker(edits).onAsk })
    const { requests, onAsk } = asker(edits)
    const { ran, result } = await recovered(store, { onAsk })
    expect([ran, requests.length, result.status]).toEqual([[{ usd: 5 }], 1, "done"])
  })

  test("a run that dies while a callback is asked does not run the call in a process without an approver", async () => {
    const store = newStore()
    await crashedAfter("approval-request", store, { onAsk: asker(edits).onAsk })
    const { ran, result } = await recovered(store, {})
    expect([ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
  })

  test.each<[string, Policy]>([
    ["a callback", { onAsk: asker(edits, edits).onAsk }],
    ["a pause", pauses.policy],
  ])(
    "a call that was approved by %s and lost before its intent runs once, as approved, and no question is asked",
    async (_by, policy) => {
      const store = newStore()
      await crashedAfter("approval-result", store, policy)
      const nobody = asker()
      const { ran, result } = await recovered(store, { onAsk: nobody.onAsk })
      expect([ran, nobody.requests, result.status]).toEqual([[{ usd: 5 }], [], "done"])
    },
  )

  test("a person is asked each time about a call that was repeated by a person and lost again", async () => {
    const store = newStore()
    const asked = { effect: "once", unknownOutcome: "pause" }
    await crashedAfter("tool-intent", store, { mode: "auto" }, asked)
    const first = await recovered(store, { mode: "auto" }, asked)
    expect(first.result.pause?.reason).toBe("unknown_outcome")
    await first.runtime.resume({ runId: "r", decision: "approve" })
    expect(first.ran).toEqual([{ usd: 5000 }])
    const records = await recordsOf(first.runtime, "r")
    const result = records.findLastIndex(({ type }) => type === "tool-result")
    await leaveRun(store, "again", records.slice(0, result))
    const ran: Json[] = []
    const second = processOver(store, ["end"], { policy: { mode: "auto" }, tools: [acting(ran, asked)] })
    const { pause } = await second.runtime.resume({ runId: "again" })
    expect([ran, pause?.reason]).toEqual([[], "unknown_outcome"])
  })
})
