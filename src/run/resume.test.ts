import { describe, expect, test } from "vitest"
import { native } from "../backends/native/index.ts"
import type { RunRecord } from "../contract/event.ts"
import type { GateVerdict } from "../contract/hooks.ts"
import type { Json } from "../contract/json.ts"
import type { Message } from "../contract/message.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import type { Store } from "../contract/store.ts"
import { createRuntime } from "../index.ts"
import { takeRun } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import { project } from "../journal/projection.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"
import { askUserTool } from "../tools/ask-user.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const anyInput = { type: "object" } as const
const part = (name: string, args = {}) => ({ toolCall: { name, args } })
const call = (name: string, args = {}) => ({ parts: [part(name, args)] })

/** A tool that records its effects outside of the run. */
function paying(ledger: Json[], more: object = {}) {
  return defineTool({
    name: "pay",
    description: "pays",
    inputSchema: anyInput,
    run: (args: { readonly [name: string]: Json }) => {
      ledger.push(args)
      return `paid ${JSON.stringify(args)}`
    },
    ...more,
  })
}

const gate = (verdict: (name: string, args: Json, edited: boolean) => GateVerdict): RuntimeConfig => ({
  hooks: { gateBeforeTool: (name, { args, edited }) => verdict(name, args, edited) },
})
const asksBeforePay = gate((name) =>
  name === "pay" ? { allow: false, reason: "Payments need a person." } : { allow: true },
)

/** Another runtime over the same store, like that of another process. */
function runtimeOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  const runtime = createRuntime({ model, store, backend: native({ retry: { firstMs: 1 } }), ...config })
  return { model, runtime }
}

const lastResult = (messages: readonly Message[]) => JSON.stringify(messages.at(-1)?.content)

describe("a gate", () => {
  test("a gate pauses the run with the call to review, before any effect", {
    tags: ["PAU-01", "PAU-02", "PAU-03", "RES-09", "APR-13"],
  }, async () => {
    const ledger: Json[] = []
    const { runtime } = runtimeOver(memoryStore(), [{ parts: [{ text: "Paying." }, part("pay", { usd: 5 })] }], {
      tools: [paying(ledger)],
      ...asksBeforePay,
    })
    const result = await runtime.run({ task: "Pay 5", runId: "r" })
    expect(result).toMatchObject({
      status: "paused",
      data: { question: "Payments need a person.", tool: "pay", args: { usd: 5 } },
      turns: 1,
      pause: {
        reason: "approval",
        askedAt: expect.any(Number),
        pendingToolCall: { id: "1.1", name: "pay", args: { usd: 5 }, question: "Payments need a person." },
      },
      toolCalls: [{ id: "1.1", status: "pending", result: null }],
    })
    expect(result.pause?.pendingToolCall?.ticket).toMatch(/^\w+$/)
    expect(result.error).toBeUndefined()
    expect(ledger).toEqual([])
    expect(await runtime.status("r")).toEqual(result)
  })

  test("an approved call runs exactly once, from any process, and the model need not repeat it", {
    tags: ["PAU-04", "PAU-05", "APR-14"],
  }, async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = { tools: [paying(ledger)], ...asksBeforePay }
    await runtimeOver(store, [call("pay", { usd: 5 })], config).runtime.run({ task: "Pay 5", runId: "r" })
    const second = runtimeOver(store, [(messages) => `Done: ${lastResult(messages)}`], config)
    const result = await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "done", turns: 2, toolCalls: [{ status: "ok", result: 'paid {"usd":5}' }] })
    expect(result.text).toContain("paid")
    expect(ledger).toEqual([{ usd: 5 }])
    expect(second.model.calls[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
    const types = []
    for await (const { type } of second.runtime.events("r")) types.push(type)
    expect(types.join(" ")).toMatch(
      /tool-call usage approval-request run-pause run-resume approval-result tool-intent tool-result turn-end .*run-end$/,
    )
  })

  test.each(["another digest", "other arguments"])(
    "a recorded approval with %s runs nothing: the question is asked again",
    async (forged) => {
      const store = memoryStore()
      const ledger: Json[] = []
      const config = { tools: [paying(ledger)], ...asksBeforePay }
      await runtimeOver(store, [call("pay", { usd: 5 })], config).runtime.run({ task: "Pay 5", runId: "r" })
      const journal = await takeRun(store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" })), {
        after: 0,
        first: (history) => {
          const { digest } = history.find(({ type }) => type === "approval-request") as { digest: string } & RunRecord
          const approval = { type: "approval-result", callId: "1.0", decision: "approve" } as const
          return [
            { type: "run-resume", cause: "decision" },
            forged === "another digest"
              ? { ...approval, digest: digest.replace(/./g, "0") }
              : { ...approval, digest, args: { usd: 5000 } },
            { type: "run-pause", reason: "approval", callId: "1.0" },
          ]
        },
      })
      await journal.release()
      const { runtime } = runtimeOver(store, ["Done."], config)
      const again = await runtime.resume({ runId: "r" })
      expect(again).toMatchObject({ status: "paused", pause: { reason: "approval" } })
      expect(ledger).toEqual([])
      const ticket = again.pause?.pendingToolCall?.ticket ?? ""
      expect(await runtime.resume({ runId: "r", decision: "approve", ticket })).toMatchObject({ status: "done" })
      expect(ledger).toHaveLength(1)
    },
  )

  test("a denied call does not run, and the model gets the reason", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = { tools: [paying(ledger)], ...asksBeforePay }
    await runtimeOver(store, [call("pay")], config).runtime.run({ task: "Pay", runId: "r" })
    const second = runtimeOver(store, [(messages) => lastResult(messages)], config)
    const result = await second.runtime.resume({ runId: "r", decision: "deny", answer: "Too dear." })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(result.text).toContain("Too dear.")
    expect(ledger).toEqual([])
  })

  test("a free answer reaches the model as the call's result, or together with an approval", {
    tags: ["APR-15"],
  }, async () => {
    for (const decision of [undefined, "approve"] as const) {
      const store = memoryStore()
      const ledger: Json[] = []
      const config = { tools: [paying(ledger)], ...asksBeforePay }
      await runtimeOver(store, [call("pay")], config).runtime.run({ task: "Pay", runId: "r" })
      const second = runtimeOver(store, [(messages) => JSON.stringify(messages.slice(2))], config)
      const answer = "Approved. User selected Topic 1"
      const result = await second.runtime.resume({ runId: "r", answer, ...(decision && { decision }) })
      expect(result.text).toContain(answer)
      expect(ledger).toHaveLength(decision ? 1 : 0)
      expect(second.model.calls[0]?.map(({ role }) => role)).toEqual(
        decision ? ["user", "assistant", "tool", "user"] : ["user", "assistant", "tool"],
      )
    }
  })

  test("a later gate pauses again, as often as needed", { tags: ["APR-16"] }, async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = { tools: [paying(ledger)], ...asksBeforePay }
    let result = await runtimeOver(store, [call("pay", { n: 1 })], config).runtime.run({ task: "Pay", runId: "r" })
    for (const n of [2, 3]) {
      expect(result).toMatchObject({ status: "paused", data: { args: { n: n - 1 } } })
      result = await runtimeOver(store, [call("pay", { n })], config).runtime.resume({
        runId: "r",
        decision: "approve",
      })
    }
    result = await runtimeOver(store, ["All paid."], config).runtime.resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "done", text: "All paid.", turns: 4 })
    expect(ledger).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  test("edited arguments pass the gate again, and the model learns what ran and why", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = {
      tools: [paying(ledger)],
      ...gate((_, args) =>
        JSON.stringify(args).length > 10 ? { allow: false, reason: "A large sum." } : { allow: true },
      ),
    }
    await runtimeOver(store, [call("pay", { usd: 5_000_000 })], config).runtime.run({ task: "Pay", runId: "r" })
    const again = await runtimeOver(store, [], config).runtime.resume({
      runId: "r",
      decision: "approve",
      args: { usd: 4_000_000 },
    })
    expect(again).toMatchObject({ status: "paused", data: { args: { usd: 4_000_000 } } })
    const last = runtimeOver(store, [(messages) => lastResult(messages)], config)
    const result = await last.runtime.resume({ runId: "r", decision: "approve", args: { usd: 5 } })
    expect(ledger).toEqual([{ usd: 5 }])
    expect(result.text).toContain("a reviewer changed")
  })

  test("approving an edited call runs what was shown", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = { tools: [paying(ledger)], ...asksBeforePay }
    await runtimeOver(store, [call("pay", { usd: 1 })], config).runtime.run({ task: "Pay", runId: "r" })
    const edited = await runtimeOver(store, [], config).runtime.resume({
      runId: "r",
      decision: "approve",
      args: { usd: 2 },
    })
    expect(edited).toMatchObject({ status: "paused", pause: { pendingToolCall: { args: { usd: 2 } } } })
    await runtimeOver(store, ["Done."], config).runtime.resume({ runId: "r", decision: "approve" })
    expect(ledger).toEqual([{ usd: 2 }])
  })

  test("no call after a waiting one in the step starts; calls before it finish", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const order: string[] = []
    const note = (name: string) =>
      defineTool({ name, description: name, inputSchema: anyInput, run: () => order.push(name), effect: "none" })
    const config = { tools: [note("before"), paying(ledger), note("after")], ...asksBeforePay }
    const step = { parts: [part("before"), part("pay"), part("after")] }
    await runtimeOver(store, [step], config).runtime.run({ task: "x", runId: "r" })
    expect(order).toEqual(["before"])
    const second = runtimeOver(store, ["Done."], config)
    const result = await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(order).toEqual(["before", "after"])
    expect(ledger).toHaveLength(1)
    expect(result.toolCalls.map(({ name, status }) => [name, status])).toEqual([
      ["before", "ok"],
      ["pay", "ok"],
      ["after", "ok"],
    ])
    expect(second.model.calls[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
  })

  test("a gate that throws denies the call with a warning", async () => {
    const ledger: Json[] = []
    const { runtime } = runtimeOver(memoryStore(), [call("pay"), (messages) => lastResult(messages)], {
      tools: [paying(ledger)],
      hooks: {
        gateBeforeTool: () => {
          throw new Error("secret words")
        },
      },
    })
    const result = await runtime.run({ task: "x" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(result.warnings).toMatchObject([{ code: "hook_failed" }])
    expect(ledger).toEqual([])
    expect(JSON.stringify(result)).not.toContain("secret words")
  })

  test("the fold of a paused and resumed run equals the messages sent to the model", async () => {
    const store = memoryStore()
    const config = { tools: [paying([])], ...asksBeforePay }
    await runtimeOver(store, [{ parts: [part("pay"), part("pay")] }], config).runtime.run({ task: "x", runId: "r" })
    await runtimeOver(store, [], config).runtime.resume({ runId: "r", decision: "approve" })
    const last = runtimeOver(store, ["Done."], config)
    await last.runtime.resume({ runId: "r", decision: "deny" })
    const records = []
    for await (const record of last.runtime.events("r")) records.push(record)
    expect(project(records).messages.slice(0, -1)).toEqual(last.model.calls[0])
  })
})

describe("a decision", () => {
  async function paused() {
    const store = memoryStore()
    const ledger: Json[] = []
    const config = { tools: [paying(ledger)], ...asksBeforePay }
    const result = await runtimeOver(store, [call("pay")], config).runtime.run({ task: "Pay", runId: "r" })
    const ticket = result.pause?.pendingToolCall?.ticket as string
    return { ledger, ticket, over: (steps: readonly ScriptedStep[]) => runtimeOver(store, steps, config).runtime }
  }

  test("a decision with the ticket of another question is stale and changes nothing", async () => {
    const { ledger, over, ticket } = await paused()
    const first = await over([call("pay", { n: 2 })]).resume({ runId: "r", decision: "approve", ticket })
    expect(first.status).toBe("paused")
    const replayed = await over([]).resume({ runId: "r", decision: "approve", ticket })
    expect(replayed).toMatchObject({ status: "failed", error: { code: "approval_stale" } })
    expect(ledger).toHaveLength(1)
    expect((await over([]).status("r")).status).toBe("paused")
  })

  test("of two concurrent decisions one applies, the other is rejected", async () => {
    const { ledger, over } = await paused()
    const results = await Promise.all([
      over(["Done."]).resume({ runId: "r", decision: "approve" }),
      over(["Done."]).resume({ runId: "r", decision: "approve" }),
    ])
    expect(results.filter(({ status }) => status === "done")).toHaveLength(1)
    expect(results.find(({ status }) => status === "failed")?.error?.code).toMatch(/fenced|run_active|invalid_state/)
    expect(ledger).toHaveLength(1)
  })

  test("a decision is required if a run waits for one, and rejected otherwise", async () => {
    const { over } = await paused()
    expect(await over([]).resume({ runId: "r" })).toMatchObject({
      status: "failed",
      error: { code: "invalid_state", fix: expect.stringContaining("approve") },
    })
    await over(["Done."]).resume({ runId: "r", decision: "approve" })
    expect(await over([]).resume({ runId: "r", decision: "approve" })).toMatchObject({
      error: { code: "invalid_state", message: expect.stringContaining("done") },
    })
    expect(await over([]).resume({ runId: "nobody" })).toMatchObject({ error: { code: "not_found" } })
    expect(await over([]).resume({ runId: "../x" })).toMatchObject({ error: { code: "config_invalid" } })
  })

  test("a decision with invalid arguments is rejected, and the run keeps waiting", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const inputSchema = { type: "object", properties: { usd: { type: "number" } }, required: ["usd"] } as const
    const config = { tools: [paying(ledger, { inputSchema })], ...asksBeforePay }
    await runtimeOver(store, [call("pay", { usd: 5 })], config).runtime.run({ task: "Pay", runId: "r" })
    const { runtime } = runtimeOver(store, [], config)
    expect(await runtime.resume({ runId: "r", decision: "approve", args: { usd: "five" } })).toMatchObject({
      status: "failed",
      error: { code: "config_invalid", message: expect.stringContaining("usd") },
    })
    expect(await runtime.status("r")).toMatchObject({ status: "paused", data: { args: { usd: 5 } } })
  })

  test("a decision about a call whose tool is not available is rejected, and the run keeps waiting", async () => {
    const { over } = await paused()
    const without = over([]).with({ tools: [] })
    expect(await without.resume({ runId: "r", decision: "approve" })).toMatchObject({
      status: "failed",
      error: { code: "config_invalid", fix: expect.stringContaining("pay") },
    })
    expect((await over([]).status("r")).status).toBe("paused")
  })
})

describe("AskUser", () => {
  test("AskUser pauses for input, and the answer is its result", async () => {
    const store = memoryStore()
    const config = { tools: [askUserTool()] }
    const asked = await runtimeOver(
      store,
      [call("AskUser", { question: "Which one?", options: ["a", "b"] })],
      config,
    ).runtime.run({ task: "x", runId: "r" })
    expect(asked).toMatchObject({
      status: "paused",
      pause: { reason: "input" },
      data: { question: "Which one?\n- a\n- b" },
    })
    const unanswered = await runtimeOver(store, [], config).runtime.resume({ runId: "r", decision: "approve" })
    expect(unanswered.error?.code).toBe("invalid_state")
    const result = await runtimeOver(store, [(messages) => lastResult(messages)], config).runtime.resume({
      runId: "r",
      answer: "The second.",
    })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok", result: "The second." }] })
  })

  test("AskUser with invalid arguments is an error for the model, not a pause", async () => {
    const { runtime } = runtimeOver(memoryStore(), [call("AskUser", {}), "Never mind."], { tools: [askUserTool()] })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
  })
})

describe("an ended run", () => {
  test("a cancelled run resumes where it stopped, keeping its turns and spending", async () => {
    const store = memoryStore()
    const ledger: Json[] = []
    const tools = [paying(ledger)]
    const first = runtimeOver(store, [call("pay", { n: 1 })], {
      tools,
      hooks: { postTurn: ({ runId }) => void first.runtime.interrupt(runId) },
    })
    expect(await first.runtime.run({ task: "x", runId: "r" })).toMatchObject({ status: "cancelled", turns: 1 })
    const second = runtimeOver(store, [call("pay", { n: 2 }), "Done."], { tools })
    const result = await second.runtime.resume({ runId: "r" })
    expect(result).toMatchObject({ status: "done", turns: 3, text: "Done." })
    expect(result.toolCalls.map(({ id }) => id)).toEqual(["1.0", "2.0"])
    expect(ledger).toEqual([{ n: 1 }, { n: 2 }])
  })

  test("a run at its limit resumes if the limit is raised", async () => {
    const store = memoryStore()
    const config = { tools: [paying([])] }
    const failed = await runtimeOver(store, [call("pay")], config).runtime.run({
      task: "x",
      runId: "r",
      limits: { turns: 1 },
    })
    expect(failed.error?.code).toBe("max_turns")
    const still = await runtimeOver(store, [], config).runtime.resume({ runId: "r" })
    expect(still.error?.code).toBe("max_turns")
    const { runtime } = runtimeOver(store, ["Done."], config)
    expect(await runtime.resume({ runId: "r", limits: { turns: 5 } })).toMatchObject({ status: "done", turns: 2 })
  })
})

describe("a limit of time", () => {
  const slow = defineTool({
    name: "slow",
    description: "works until it is stopped",
    inputSchema: anyInput,
    effect: "none",
    run: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  })
  const begin = { task: "Work", runId: "r", limits: { timeMs: 200 } }

  test("a limit of time that is used up stops a resumed run before it calls a model or a tool", async () => {
    const store = memoryStore()
    const first = runtimeOver(store, [call("slow")], { tools: [slow] })
    expect(await first.runtime.run(begin)).toMatchObject({ status: "failed", error: { code: "run_timeout" } })
    const next = runtimeOver(store, ["Done."], { tools: [slow] })
    // A timer that is set while the process is busy fires a little early.
    const used = begin.limits.timeMs / 4
    expect(await next.runtime.resume({ runId: "r", limits: { timeMs: used } })).toMatchObject({
      status: "failed",
      error: { code: "run_timeout" },
    })
    expect(next.model.calls).toHaveLength(0)
    const raised = await next.runtime.resume({ runId: "r", limits: { timeMs: 60_000 } })
    expect(raised).toMatchObject({ status: "done", text: "Done." })
  })

  test("a limit of time does not count the time for which a run was paused", async () => {
    const store = memoryStore()
    const config = { tools: [askUserTool()] }
    const asked = runtimeOver(store, [call("AskUser", { question: "Which?" })], config)
    expect(await asked.runtime.run({ ...begin, limits: { timeMs: 5000 } })).toMatchObject({ status: "paused" })
    const clock = Date.now
    try {
      Date.now = () => clock() + 3_600_000
      const { runtime } = runtimeOver(store, ["Done."], config)
      expect(await runtime.resume({ runId: "r", answer: "That one." })).toMatchObject({ status: "done" })
    } finally {
      Date.now = clock
    }
  })
})
