import { describe, expect, test } from "vitest"
import type { RecordBody } from "../src/contract/event.ts"
import type { Json } from "../src/contract/json.ts"
import type { ApprovalDecision, ApprovalRequest, Policy, PolicyService } from "../src/contract/policy.ts"
import type { RunResult } from "../src/contract/result.ts"
import { toolPolicy } from "../src/policy/local.ts"
import {
  act,
  acting,
  asker,
  calls,
  leaveRun,
  part,
  pauses,
  processOver,
  recordsOf,
  service,
  stores,
  ticketOf,
  upTo,
} from "./support/approval-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"

countAttacks("approvals of other arguments")

describe.each(stores)("with a store in %s", (_name, newStore) => {
  describe("arguments that change after the approval", () => {
    /** The journal of a run whose call was approved, edited by an attacker before any process ran the call. */
    async function forgedApproval(forge: (record: RecordBody) => RecordBody) {
      const store = newStore()
      const first = processOver(store, [act({ usd: 5 })], pauses)
      await first.runtime.run({ task: "go", runId: "whole" })
      await processOver(store, ["end"], pauses).runtime.resume({ runId: "whole", decision: "approve" })
      const records = upTo(await recordsOf(first.runtime, "whole"), "approval-result")
      await leaveRun(store, "r", records.map(forge))
      const second = processOver(store, ["end"], pauses)
      return { ...second, result: await second.runtime.resume({ runId: "r" }) }
    }

    test.each<[string, (record: RecordBody) => RecordBody]>([
      ["the call", (record) => (record.type === "tool-call" ? { ...record, args: { usd: 5000 } } : record)],
      [
        "the call's tool",
        (record) => (record.type === "tool-call" ? { ...record, args: { usd: 5, to: "eve" } } : record),
      ],
      ["the approval", (record) => (record.type === "approval-result" ? { ...record, args: { usd: 5000 } } : record)],
      ["the question", (record) => (record.type === "approval-request" ? { ...record, args: { usd: 5000 } } : record)],
      ["the digest", (record) => (record.type === "approval-result" ? { ...record, digest: "0" } : record)],
      [
        "the folder",
        (record) =>
          record.type === "run-start" ? { ...record, input: { ...record.input, cwd: "elsewhere" } } : record,
      ],
    ])("a journal in which %s was edited asks again and runs nothing", async (_what, forge) => {
      const { ran, result } = await forgedApproval(forge)
      expect([ran, result.status]).toEqual([[], "paused"])
    })

    test("an unedited journal runs the approved call, so the attacks above fail for their edits", async () => {
      expect((await forgedApproval((record) => record)).ran).toEqual([{ usd: 5 }])
    })

    test("a rule that rewrites the approved arguments later makes the run ask again with what it would run", async () => {
      const store = newStore()
      await processOver(store, [act({ usd: 5 })], pauses).runtime.run({ task: "go", runId: "r" })
      const rewriting: Policy = { ask: "pause", rules: [{ ask: { tool: "act" }, set: { "/usd": 5000 } }] }
      const second = processOver(store, ["end"], { policy: rewriting })
      const again = await second.runtime.resume({ runId: "r", decision: "approve" })
      expect([second.ran, again.status, again.pause?.pendingToolCall?.args]).toEqual([[], "paused", { usd: 5000 }])
    })

    test("a service that rewrites the approved arguments later runs nothing without another approval", async () => {
      const store = newStore()
      await processOver(store, [act({ usd: 5 })], pauses).runtime.run({ task: "go", runId: "r" })
      const services = [service({ decision: "allow", args: { usd: 5000 } })]
      const second = processOver(store, ["end"], { policy: { ask: "pause", services } })
      expect((await second.runtime.resume({ runId: "r", decision: "approve" })).status).toBe("paused")
      expect(second.ran).toEqual([])
    })

    test("a rule that rewrites what a callback approved denies the call", async () => {
      const rules = [{ ask: { tool: "act", args: { "/usd": "7" } }, set: { "/usd": 5000 } }]
      const { onAsk } = asker({ decision: "approve", args: { usd: 7 } })
      const { ran, runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], { policy: { onAsk, rules } })
      expect((await runtime.run({ task: "go" })).toolCalls[0]?.status).toBe("denied")
      expect(ran).toEqual([])
    })

    test("a callback that changes the request it received changes nothing", async () => {
      const onAsk = (request: ApprovalRequest): ApprovalDecision => {
        // Safe: the attack is to ignore the types.
        ;(request.args as { usd: number }).usd = 5000
        return { decision: "approve" }
      }
      const { ran, runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], { policy: { onAsk } })
      await runtime.run({ task: "go" })
      expect(ran).toEqual([{ usd: 5 }])
    })

    test("a callback of tools that other software runs changes nothing either", async () => {
      const toolInput = { usd: 5 }
      const onAsk = (request: ApprovalRequest): ApprovalDecision => {
        // Safe: the attack is to ignore the types.
        ;(request.args as { usd: number }).usd = 5000
        return { decision: "approve" }
      }
      const policy = toolPolicy({ onAsk }, { workspace: "/", riskOf: () => "high" })
      const verdict = await policy.preTool({ sessionId: "s", toolName: "act", toolInput })
      expect([verdict, toolInput]).toEqual([{ decision: "allow" }, { usd: 5 }])
    })

    test("a callback that changes its own arguments after the approval changes nothing", async () => {
      const given = { usd: 7 }
      const onAsk = (): ApprovalDecision => {
        setImmediate(() => {
          given.usd = 5000
        })
        return { decision: "approve", args: given }
      }
      const { ran, runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], { policy: { onAsk } })
      await runtime.run({ task: "go" })
      expect(ran).toEqual([{ usd: 7 }])
    })

    test("a hook that changes the call it received does not change what runs", async () => {
      const edit = ({ args }: { readonly args: Json }) => {
        // Safe: the attack is to ignore the types.
        ;(args as { usd: number }).usd = 5000
      }
      const { onAsk } = asker({ decision: "approve" })
      const { ran, runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], {
        policy: { onAsk },
        hooks: {
          gateBeforeTool: (_, call) => {
            edit(call)
            return { allow: true }
          },
          preToolCall: edit,
        },
      })
      await runtime.run({ task: "go" })
      expect(ran).toEqual([{ usd: 5 }])
    })

    test("a service that changes the call it received does not change what runs", async () => {
      const changing: PolicyService = {
        decide: async ({ args }) => {
          // Safe: the attack is to ignore the types.
          ;(args as { usd: number }).usd = 5000
          return { decision: "allow" }
        },
        scan: async () => ({ decision: "allow" }),
      }
      const { ran, runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], {
        policy: { services: [changing], preApproved: ["act"] },
      })
      await runtime.run({ task: "go" })
      expect(ran).toEqual([{ usd: 5 }])
    })

    test("of two calls in a step, a repeatable one that a person edited is repeated as approved after a crash", async () => {
      const store = newStore()
      const { onAsk } = asker({ decision: "approve", args: { usd: 5 } }, { decision: "approve" })
      const first = processOver(store, [calls(part("act", { usd: 5000 }), part("act", { usd: 2 })), "end"], {
        policy: { onAsk },
        tools: [acting([], { effect: "repeatable" })],
      })
      await first.runtime.run({ task: "go", runId: "whole" })
      const records = (await recordsOf(first.runtime, "whole")).filter(({ type }) => type !== "tool-result")
      await leaveRun(store, "r", upTo(records, "tool-intent"))
      const ran: Json[] = []
      const second = processOver(store, ["end"], { policy: { onAsk }, tools: [acting(ran, { effect: "repeatable" })] })
      await second.runtime.resume({ runId: "r" })
      expect(ran.map((args) => JSON.stringify(args)).sort()).toEqual(['{"usd":2}', '{"usd":5}'])
    })

    test("a repeatable call is repeated as its intent says, not as an older decision did", async () => {
      const store = newStore()
      const repeatable = { effect: "repeatable", risk: "low" }
      const rewriting: Policy = { rules: [{ allow: { tool: "act" }, set: { "/usd": 5000 } }] }
      const first = processOver(store, [act({ usd: 5 }), "end"], { policy: rewriting, tools: [acting([], repeatable)] })
      await first.runtime.run({ task: "go", runId: "a" })
      await leaveRun(store, "b", upTo(await recordsOf(first.runtime, "a"), "policy-decision"))
      const second = processOver(store, ["end"], { tools: [acting([], repeatable)] })
      await second.runtime.resume({ runId: "b" })
      await leaveRun(store, "c", upTo(await recordsOf(second.runtime, "b"), "tool-intent"))
      const ran: Json[] = []
      await processOver(store, ["end"], { tools: [acting(ran, repeatable)] }).runtime.resume({ runId: "c" })
      expect(ran).toEqual([{ usd: 5 }])
    })
  })

  describe("what is approved is what runs", () => {
    /** Parsed as a provider does, so that the values are those of a model. */
    const texts = [
      '{"n":1e21,"m":-0,"big":9007199254740993,"small":5e-324,"f":0.1}',
      '{"huge":1e999,"low":[-1e400]}',
      '{"usd":1,"usd":5000}',
      '{"nfc":"\\u00e9","nfd":"e\\u0301"}',
      '{"z":1,"a":2,"10":3,"2":4}',
      '{"__proto__":{"x":1},"constructor":1,"toString":"t"}',
      '{"lone":"\\ud800","nul":"\\u0000","line":"\\u2028","esc":"\\u001b[2K"}',
      '{"\\u00e9":1,"e\\u0301":2,"":3}',
      '{"deep":[[[{"a":[null,true,{}]}]]],"empty":[]}',
    ]
    /** Tells apart everything that a tool could, also the order of keys, -0 and infinity. */
    const exact = (value: unknown): string =>
      JSON.stringify(value, (_key, each: unknown) => {
        if (Object.is(each, -0)) return "negative zero"
        return typeof each === "number" && !Number.isFinite(each) ? String(each) : each
      })

    test.each(texts)("what a callback approves is what runs: %s", async (text) => {
      const shown: string[] = []
      const received: string[] = []
      const onAsk = ({ args }: ApprovalRequest): ApprovalDecision => {
        shown.push(exact(args))
        return { decision: "approve" }
      }
      const tool = acting([], { run: (args: Json) => received.push(exact(args)) })
      const { runtime } = processOver(newStore(), [act(JSON.parse(text)), "end"], { policy: { onAsk }, tools: [tool] })
      await runtime.run({ task: "go" })
      expect(received).toEqual(shown)
      expect(received).toHaveLength(1)
    })

    test.each(texts)("what is approved after a pause, in another process, is what runs: %s", async (text) => {
      const store = newStore()
      const first = processOver(store, [act(JSON.parse(text))], pauses)
      const paused = await first.runtime.run({ task: "go", runId: "r" })
      const received: string[] = []
      const tool = acting([], { run: (args: Json) => received.push(exact(args)) })
      const second = processOver(store, ["end"], { ...pauses, tools: [tool] })
      const seen = (await second.runtime.status("r")) as RunResult
      await second.runtime.resume({ runId: "r", decision: "approve", ticket: ticketOf(paused) })
      expect(received).toEqual([exact(seen.pause?.pendingToolCall?.args)])
      expect(received).toEqual([exact(paused.pause?.pendingToolCall?.args)])
    })

    test.each<[string, unknown]>([
      ["a date", { at: new Date(0) }],
      ["an undefined value", { usd: 1, to: undefined }],
      ["a number that JSON has not", { usd: Number.NaN }],
      ["an object with its own JSON", { toJSON: () => ({ usd: 1 }), usd: 5000 }],
      ["a getter", Object.defineProperty({}, "usd", { enumerable: true, get: () => ++reads })],
    ])("arguments that a callback returns with %s reach the tool as they are recorded", async (_what, args) => {
      const received: unknown[] = []
      const tool = acting([], { run: (given: unknown) => received.push(given) })
      // Safe: the attack is to ignore the types.
      const onAsk = () => ({ decision: "approve", args }) as ApprovalDecision
      const { runtime } = processOver(newStore(), [act({ usd: 5 }), "end"], { policy: { onAsk }, tools: [tool] })
      const { runId } = await runtime.run({ task: "go" })
      const decided = (await recordsOf(runtime, runId)).flatMap((record) =>
        record.type === "approval-result" ? [record] : [],
      )
      expect(received).toEqual(decided.flatMap(({ decision, args: of }) => (decision === "approve" ? [of] : [])))
    })
  })
})
let reads = 0
