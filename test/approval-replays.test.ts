import { describe, expect, test } from "vitest"
import type { Json } from "../src/contract/json.ts"
import type { ApprovalDecision, ApprovalRequest, Policy } from "../src/contract/policy.ts"
import {
  act,
  acting,
  asker,
  leaveRun,
  pauses,
  processOver,
  recordsOf,
  stores,
  ticketOf,
  upTo,
} from "./support/approval-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"

const attacks = countAttacks("replayed and late approvals")

describe.each(stores)("with a store in %s", (_name, newStore) => {
  describe("replayed decisions", () => {
    async function paused(store = newStore(), runId = "r") {
      const first = processOver(store, [act({ n: 1 })], pauses)
      const ticket = ticketOf(await first.runtime.run({ task: "go", runId }))
      return { store, ticket }
    }

    test("the ticket of one run is stale for another", async () => {
      const { store, ticket } = await paused()
      await paused(store, "other")
      const { ran, runtime } = processOver(store, ["end"], pauses)
      const replayed = await runtime.resume({ runId: "other", decision: "approve", ticket })
      expect([replayed.error?.code, ran]).toEqual(["approval_stale", []])
    })

    test("a ticket is stale for the next call of its run", async () => {
      const { store, ticket } = await paused()
      const next = processOver(store, [act({ n: 2 })], pauses)
      expect((await next.runtime.resume({ runId: "r", decision: "approve", ticket })).status).toBe("paused")
      const replayed = await processOver(store, [], pauses).runtime.resume({ runId: "r", decision: "approve", ticket })
      expect([replayed.error?.code, next.ran]).toEqual(["approval_stale", [{ n: 1 }]])
    })

    test("a ticket is refused a second time, after the run is done", async () => {
      const { store, ticket } = await paused()
      const next = processOver(store, ["end"], pauses)
      await next.runtime.resume({ runId: "r", decision: "approve", ticket })
      const replayed = await processOver(store, [], pauses).runtime.resume({ runId: "r", decision: "approve", ticket })
      expect([replayed.status, replayed.error?.code, next.ran.length]).toEqual(["failed", "invalid_state", 1])
    })

    test("a ticket is refused after a denial", async () => {
      const { store, ticket } = await paused()
      await processOver(store, [act({ n: 2 })], pauses).runtime.resume({ runId: "r", decision: "deny", ticket })
      const last = processOver(store, ["end"], pauses)
      const replayed = await last.runtime.resume({ runId: "r", decision: "approve", ticket })
      expect([replayed.error?.code, last.ran]).toEqual(["approval_stale", []])
    })

    test("the ticket of a run is stale for a fork of it", async () => {
      const { store, ticket } = await paused()
      const next = processOver(store, ["end"], pauses)
      const fork = await next.runtime.fork("r")
      const replayed = await next.runtime.resume({ runId: fork.runId, decision: "approve", ticket })
      expect([replayed.error?.code, next.ran]).toEqual(["approval_stale", []])
    })

    test.each(["pause", "wait"] as const)(
      "an approval that a fork copied (via %s) approves nothing in the fork",
      async (ask) => {
        const store = newStore()
        const { onAsk } = asker({ decision: "approve" })
        const policy: Policy = ask === "pause" ? { ask } : { onAsk }
        const first = processOver(store, [act({ n: 1 }), "end"], { policy })
        await first.runtime.run({ task: "go", runId: "r" })
        if (ask === "pause") await first.runtime.resume({ runId: "r", decision: "approve" })
        expect(first.ran).toHaveLength(1)
        const at = (await recordsOf(first.runtime, "r")).findIndex(({ type }) => type === "approval-result")
        const fork = await first.runtime.fork("r", { at })
        const second = processOver(store, ["end"], pauses)
        await second.runtime.resume({ runId: fork.runId })
        expect(second.ran).toEqual([])
      },
    )

    test.each(["pause", "wait"] as const)(
      "an approval (via %s) is used up by the intent: after a crash, the person is asked about the unknown outcome",
      async (ask) => {
        const store = newStore()
        const { onAsk } = asker({ decision: "approve" })
        const tools = (ran: Json[]) => [acting(ran, { effect: "once", unknownOutcome: "pause" })]
        const policy: Policy = ask === "pause" ? { ask } : { onAsk }
        const first = processOver(store, [act({ n: 1 }), "end"], { policy, tools: tools([]) })
        await first.runtime.run({ task: "go", runId: "whole" })
        if (ask === "pause") await first.runtime.resume({ runId: "whole", decision: "approve" })
        await leaveRun(store, "r", upTo(await recordsOf(first.runtime, "whole"), "tool-intent"))
        const ran: Json[] = []
        const second = processOver(store, ["end"], { policy, tools: tools(ran) })
        const result = await second.runtime.resume({ runId: "r" })
        expect([ran, result.status, result.pause?.reason]).toEqual([[], "paused", "unknown_outcome"])
      },
    )

    test.each([
      ["approve", "approve"],
      ["approve", "deny"],
      ["always", "approve"],
    ] as const)(
      "of two approvers at once (%s, %s) one decides, and what happened is what is recorded",
      async (...both) => {
        const { store, ticket } = await paused()
        const [one, other] = both.map((decision) => {
          const { runtime, ran } = processOver(store, ["end"], pauses)
          return { ran, result: runtime.resume({ runId: "r", decision, ticket }) }
        })
        const results = await Promise.all([one?.result, other?.result])
        const ran = [...(one?.ran ?? []), ...(other?.ran ?? [])]
        const decided = (await recordsOf(processOver(store, []).runtime, "r")).filter(
          ({ type }) => type === "approval-result",
        )
        expect(results.filter((result) => result?.status === "done")).toHaveLength(1)
        expect(decided).toHaveLength(1)
        expect(ran).toHaveLength(decided[0]?.type === "approval-result" && decided[0].decision === "approve" ? 1 : 0)
      },
    )

    test("another process cannot approve what the owner is waiting for, and a takeover leaves one execution", async () => {
      const store = newStore()
      let approve = (_decision: ApprovalDecision) => {}
      let asked = (_request: ApprovalRequest) => {}
      const request = new Promise<ApprovalRequest>((resolve) => {
        asked = resolve
      })
      const onAsk = (given: ApprovalRequest) => {
        asked(given)
        return new Promise<ApprovalDecision>((resolve) => {
          approve = resolve
        })
      }
      const owner = processOver(store, [act({ n: 1 }), "end"], { policy: { onAsk } })
      const running = owner.runtime.run({ task: "go", runId: "r" })
      const { requestId: ticket } = await request
      const other = processOver(store, ["end"], pauses)
      const refused = await other.runtime.resume({ runId: "r", decision: "approve", ticket })
      expect(refused.error?.code).toBe("run_active")
      const taken = await other.runtime.resume({ runId: "r", decision: "approve", ticket, takeover: true })
      approve({ decision: "approve" })
      expect([(await running).status, taken.status]).toEqual(["failed", "done"])
      expect([...owner.ran, ...other.ran]).toEqual([{ n: 1 }])
    })
  })

  describe("a decision that arrives as the time limit ends", () => {
    test("a decision that arrives as the time limit ends has exactly one outcome, which is the recorded one, in each of 60 races", async () => {
      const outcomes = { approve: 0, deny: 0 }
      const steps = Array.from({ length: 60 }, (_, n) => act({ n }))
      let asked = 0
      const onAsk = () =>
        new Promise<ApprovalDecision>((resolve) => {
          const delay = asked++ % 6
          const approve = () => resolve({ decision: "approve" })
          if (delay === 0) setImmediate(approve)
          else setTimeout(approve, delay)
        })
      const { ran, runtime } = processOver(newStore(), [...steps, "end"], { policy: { onAsk, askTimeoutMs: 3 } })
      const { runId, toolCalls } = await runtime.run({ task: "go", limits: { turns: 100 } })
      const decided = (await recordsOf(runtime, runId)).flatMap((record) =>
        record.type === "approval-result" ? [record] : [],
      )
      for (const { decision } of decided) outcomes[decision === "approve" ? "approve" : "deny"]++
      expect(decided.map(({ decision }) => (decision === "approve" ? "ok" : "denied"))).toEqual(
        toolCalls.map(({ status }) => status),
      )
      expect([decided.length, ran.length]).toEqual([60, outcomes.approve])
      attacks.tried(59)
    })

    test("an approval given when the question was closed approves nothing", async () => {
      const onAsk = ({ signal }: ApprovalRequest) =>
        new Promise<ApprovalDecision>((resolve) =>
          signal.addEventListener("abort", () => resolve({ decision: "approve" })),
        )
      const { ran, runtime } = processOver(newStore(), [act(), "end"], { policy: { onAsk, askTimeoutMs: 1 } })
      const { runId } = await runtime.run({ task: "go" })
      const decided = (await recordsOf(runtime, runId)).find(({ type }) => type === "approval-result")
      expect([ran, decided]).toEqual([[], expect.objectContaining({ decision: "deny" })])
    })
  })
})
