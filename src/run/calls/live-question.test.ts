import { describe, expect, test, vi } from "vitest"
import { agent, calls, eventsOf, mortalStore, part, playing } from "../../../test/support/agent-scene.ts"
import type { RunEvent } from "../../contract/event.ts"
import type { ApprovalDecision, ApprovalRequest, Policy } from "../../contract/policy.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { askUserTool } from "../../tools/ask-user.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

interface Scene {
  readonly policy?: Policy
  readonly effect?: "none" | "once" | "repeatable"
  readonly questions?: number
  readonly calls?: number
  readonly concurrent?: boolean
  readonly config?: RuntimeConfig
}

/** A tool that asks before its effect. */
function asking({ effect = "once", questions = 1, concurrent = true }: Scene, log: string[]) {
  return defineTool({
    name: "ship",
    description: "ships",
    inputSchema: { type: "object" },
    effect,
    concurrent,
    risk: "low",
    async run({ n = 0 }: { readonly n?: number }, { answered, ask }: ToolContext) {
      const { round = 0 } = (answered?.state ?? {}) as { readonly round?: number }
      const said = answered === undefined ? "" : `: ${answered.decision} ${answered.text ?? "-"}`
      log.push(`run ${n} round ${round}${said}`)
      if (answered?.decision === "deny") return `declined${said}`
      if (round < questions && ask) return ask(`Question ${round + 1} of ${n}?`, { round: round + 1 })
      if (!ask) return "nobody to ask"
      log.push(`effect ${n}`)
      return `shipped${said}`
    },
  })
}

/** Another process over the store. */
function processOver(store: Store, scene: Scene, log: string[] = []) {
  const { calls: count = 1, config, policy } = scene
  const parts = Array.from({ length: count }, (_, n) => part("ship", { n }))
  const step = (messages: readonly { readonly role: string }[]) =>
    messages.some(({ role }) => role === "tool") ? "Done." : { parts }
  const model = scriptedModel([step, step, step])
  const runtime = createRuntime({
    store,
    model,
    tools: [asking(scene, log), askUserTool()],
    ...(policy && { policy }),
    ...config,
  })
  return { runtime, log }
}

/** A callback that returns the decisions in order, with what it was asked. */
function answering(...decisions: (ApprovalDecision | (() => Promise<ApprovalDecision>))[]) {
  const requests: ApprovalRequest[] = []
  const onAsk = (request: ApprovalRequest) => {
    const decision = decisions[requests.push(request) - 1]
    if (decision === undefined) throw new Error("asked too often")
    return typeof decision === "function" ? decision() : decision
  }
  return { requests, policy: { onAsk } }
}

const says = (text: string) => ({ decision: "answer", text }) as const
const effects = (log: readonly string[]) => log.filter((line) => line.startsWith("effect"))
const typesOf = async (runtime: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(runtime, "r")).map(({ type }) => type).filter((type) => /^(tool-|approval-|run-)/.test(type))

describe("a running call that asks, in a host with onAsk", () => {
  test("a running call gets the answer of the callback in the same run: the question and the answer are recorded as for a pause", async () => {
    const { requests, policy } = answering(says("to Oslo"))
    const { runtime, log } = processOver(memoryStore(), { policy })
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(result).toMatchObject({ status: "done", text: "Done.", toolCalls: [{ status: "ok" }] })
    expect(result.toolCalls[0]?.result).toBe("shipped: answer to Oslo")
    expect(log).toEqual(["run 0 round 0", "run 0 round 1: answer to Oslo", "effect 0"])
    expect(requests).toMatchObject([
      { runId: "r", tool: "ship", question: "Question 1 of 0?", reason: "input", by: "tool" },
    ])
    expect(await typesOf(runtime)).toEqual([
      "run-start",
      "tool-call",
      "tool-intent",
      "tool-question",
      "approval-request",
      "approval-result",
      "tool-intent",
      "tool-result",
      "run-end",
    ])
  })

  test("a running call is asked about only when the question is durable, and continues only when the answer is", async () => {
    const store = memoryStore()
    const seen: string[] = []
    const onAsk = async () => {
      seen.push(...(await typesOf(processOver(store, {}).runtime)).slice(-2))
      return says("go")
    }
    const { runtime, log } = processOver(store, { policy: { onAsk } })
    log.push = (...lines: string[]) => {
      const [line = ""] = lines
      if (line.includes("round 1")) void eventsOf(runtime, "r").then((records) => seen.push(records.at(-1)?.type ?? ""))
      return Array.prototype.push.apply(log, lines)
    }
    await runtime.run({ runId: "r", task: "Ship it." })
    expect(seen).toEqual(["tool-question", "approval-request", "tool-intent"])
  })

  test.each<[string, ApprovalDecision, string]>([
    ["yes without a text", { decision: "approve" }, "shipped: approve -"],
    ["always", { decision: "always" }, "shipped: approve -"],
    ["no with a reason", { decision: "deny", reason: "not today" }, "declined: deny not today"],
    ["no", { decision: "deny" }, "declined: deny -"],
  ])("a running call gets a %s", async (_name, decision, expected) => {
    const { runtime } = processOver(memoryStore(), answering(decision))
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(result.toolCalls[0]?.result).toBe(expected)
  })

  test("a running call asks several questions live, and is stopped after ten", async () => {
    const log: string[] = []
    const three = answering(says("a"), says("b"), says("c"))
    await processOver(memoryStore(), { ...three, questions: 3 }, log).runtime.run({ runId: "r", task: "Ship it." })
    expect(log.map((line) => line.split(": ")[1])).toEqual([undefined, "answer a", "answer b", "answer c", undefined])
    const many = answering(...Array.from({ length: 50 }, () => says("again")))
    const { runtime } = processOver(memoryStore(), { ...many, questions: 1000 })
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(many.requests).toHaveLength(10)
    expect(result.toolCalls[0]?.result).toContain("has asked 10 questions")
  })

  test.each<[string, Policy]>([
    ["the callback says pause", answering({ decision: "pause" }).policy],
    ["the callback throws", { onAsk: () => Promise.reject(new Error("no window")) }],
    // What a host without types may return.
    [
      "the callback returns an unknown decision",
      { onAsk: () => ({ decision: "maybe" }) as unknown as ApprovalDecision },
    ],
    ["the answer is not a text", { onAsk: () => ({ decision: "answer", text: 7 }) as unknown as ApprovalDecision }],
    ["the answer has changed arguments", answering({ decision: "approve", args: { n: 7 } }).policy],
    ["no answer comes in time", { onAsk: () => new Promise(() => {}), askTimeoutMs: 5 }],
    ["the policy says pause", { ...answering().policy, ask: "pause" }],
  ])("a running call that asks pauses the run, and keeps the question, if %s", async (_name, policy) => {
    const store = memoryStore()
    const { runtime, log } = processOver(store, { policy })
    const paused = await runtime.run({ runId: "r", task: "Ship it." })
    expect(paused).toMatchObject({
      status: "paused",
      pause: { reason: "input" },
      data: { question: "Question 1 of 0?" },
    })
    const ticket = paused.pause?.pendingToolCall?.ticket ?? ""
    const done = await processOver(store, {}, log).runtime.resume({ runId: "r", answer: "go", ticket })
    expect(done).toMatchObject({ status: "done", toolCalls: [{ result: "shipped: answer go" }] })
    expect(effects(log)).toHaveLength(1)
  })

  test("the next question after a pause is asked live by a process that can", async () => {
    const store = memoryStore()
    const log: string[] = []
    await processOver(store, { questions: 2 }, log).runtime.run({ runId: "r", task: "Ship it." })
    const { requests, policy } = answering(says("b"))
    const done = await processOver(store, { questions: 2, policy }, log).runtime.resume({ runId: "r", answer: "a" })
    expect(done).toMatchObject({ status: "done", toolCalls: [{ result: "shipped: answer b" }] })
    expect(requests.map(({ question }) => question)).toEqual(["Question 2 of 0?"])
  })

  test("a running call does not keep other calls waiting that run alone, and people get one question at a time", async () => {
    let open = 0
    const answer = (n: number) => async () => {
      expect(++open).toBe(1)
      // Time in which another question could be asked.
      await new Promise((resolve) => setTimeout(resolve, 5))
      open--
      return says(`for ${n}`)
    }
    for (const concurrent of [true, false]) {
      const { policy } = answering(answer(0), answer(1), answer(2))
      const { runtime, log } = processOver(memoryStore(), { calls: 3, concurrent, policy })
      const result = await runtime.run({ runId: "r", task: "Ship it." })
      expect(result.toolCalls.map((call) => call.result)).toEqual([0, 1, 2].map((n) => `shipped: answer for ${n}`))
      expect([...effects(log)].sort()).toEqual(["effect 0", "effect 1", "effect 2"])
    }
  })

  test("one of several running calls that must wait pauses the run, and no answer that was given is lost", async () => {
    const store = memoryStore()
    const log: string[] = []
    const { requests, policy } = answering(says("first"), { decision: "pause" })
    const paused = await processOver(store, { calls: 3, policy }, log).runtime.run({ runId: "r", task: "Ship it." })
    expect(paused).toMatchObject({ status: "paused", data: { question: "Question 1 of 1?" } })
    expect(requests).toHaveLength(2)
    const later = answering(says("third"))
    const done = await processOver(store, { calls: 3, ...later }, log).runtime.resume({ runId: "r", answer: "second" })
    expect(done.toolCalls.map((call) => call.result)).toEqual(
      ["first", "second", "third"].map((text) => `shipped: answer ${text}`),
    )
    expect(effects(log)).toHaveLength(3)
  })

  test("a running call that began before its answer was complete, or may be repeated, continues in the same way", async () => {
    for (const effect of ["none", "repeatable"] as const) {
      const { runtime, log } = processOver(memoryStore(), { effect, ...answering(says("go")) })
      const result = await runtime.run({ runId: "r", task: "Ship it." })
      expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok", result: "shipped: answer go" }] })
      expect(effects(log)).toHaveLength(1)
    }
  })

  test("a running call does not act if the policy denies it by the time of the answer", async () => {
    let verdict: "allow" | "deny" = "allow"
    const service = {
      decide: async () => (verdict === "allow" ? { decision: verdict } : { decision: verdict, reason: "closed" }),
      scan: async () => ({ decision: "allow" }) as const,
    }
    const onAsk = () => {
      verdict = "deny"
      return says("go")
    }
    const { runtime, log } = processOver(memoryStore(), { policy: { services: [service], onAsk } })
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(effects(log)).toEqual([])
  })
})

describe("a run that is stopped while onAsk is asked", () => {
  test.each(["graceful", "immediate"] as const)(
    "a run that is stopped closes the question (%s), which is asked again when it is resumed",
    async (mode) => {
      const store = memoryStore()
      const log: string[] = []
      const signals: AbortSignal[] = []
      let isAsked = () => {}
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve
      })
      const onAsk = ({ signal }: ApprovalRequest) => {
        signals.push(signal)
        isAsked()
        return new Promise<ApprovalDecision>((resolve) => {
          if (mode === "graceful") setTimeout(() => resolve({ decision: "pause" }), 20)
        })
      }
      const handle = processOver(store, { policy: { onAsk } }, log).runtime.stream({ runId: "r", task: "Ship it." })
      await asked
      void handle.interrupt(mode)
      expect(await handle.result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "pending" }] })
      expect(signals[0]?.aborted).toBe(true)
      const again = processOver(store, answering(says("go")), log)
      expect(await again.runtime.resume({ runId: "r" })).toMatchObject({ status: "done" })
      expect(effects(log)).toHaveLength(1)
    },
  )

  test("a run that is stopped keeps an answer that comes meanwhile: the call continues with it later, and nobody is asked again", async () => {
    const store = memoryStore()
    const log: string[] = []
    const stopping: { stop?: () => void } = {}
    const onAsk = () => {
      stopping.stop?.()
      return says("go")
    }
    const handle = processOver(store, { policy: { onAsk } }, log).runtime.stream({ runId: "r", task: "Ship it." })
    stopping.stop = () => void handle.interrupt("graceful")
    expect(await handle.result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "pending" }] })
    expect(effects(log)).toEqual([])
    const nobody = answering()
    const done = await processOver(store, nobody, log).runtime.resume({ runId: "r" })
    expect(done).toMatchObject({ status: "done", toolCalls: [{ result: "shipped: answer go" }] })
    expect(nobody.requests).toEqual([])
  })
})

describe("a run that is stopped while onAsk is asked to approve a call", () => {
  type Stopping = readonly [name: string, stop: (scene: ReturnType<typeof asked>) => unknown, status: string]
  const ways: readonly Stopping[] = [
    ["close", ({ runtime }) => runtime.close(), "cancelled"],
    ["close({ release })", ({ runtime }) => runtime.close({ release: true }), "paused"],
    ["cancel", ({ runtime }) => runtime.cancel("r"), "cancelled"],
    ["interrupt", ({ runtime }) => runtime.interrupt("r"), "cancelled"],
    ["interrupt immediately", ({ runtime }) => runtime.interrupt("r", "immediate"), "cancelled"],
    ["the signal of the caller", ({ caller }) => caller.abort(), "cancelled"],
    ["release", ({ handle }) => handle.release(), "paused"],
  ]

  /** A run whose call needs an approval. `onStop`: what the callback returns when its signal aborts. */
  function asked(store: Store, log: string[], onStop?: ApprovalDecision) {
    let isAsked = () => {}
    const asking = new Promise<void>((resolve) => {
      isAsked = resolve
    })
    const onAsk = ({ signal }: ApprovalRequest) => {
      isAsked()
      return new Promise<ApprovalDecision>((resolve) => {
        if (onStop) signal.addEventListener("abort", () => resolve(onStop))
      })
    }
    const caller = new AbortController()
    const { runtime } = processOver(store, { questions: 0, policy: { ...needsApproval, ask: "wait", onAsk } }, log)
    const handle = runtime.stream({ runId: "r", task: "Ship it.", signal: caller.signal })
    return { runtime, handle, caller, asking }
  }
  const needsApproval = { ask: "pause", rules: [{ ask: { tool: "ship" } }] } as const

  const onStops: readonly (ApprovalDecision | undefined)[] = [undefined, { decision: "deny" }, { decision: "approve" }]
  test.each(ways.flatMap((way) => onStops.map((onStop) => [...way, onStop] as const)))(
    "a run that is stopped by %s records nobody as having decided, and the question stays open",
    async (_, stop, status, onStop) => {
      const store = memoryStore()
      const log: string[] = []
      const scene = asked(store, log, onStop)
      await scene.asking
      await stop(scene)
      expect(await scene.handle.result).toMatchObject({ status, toolCalls: [{ status: "pending" }] })
      expect(await typesOf(scene.runtime)).not.toContain("approval-result")
      expect(log).toEqual([])
      const later = processOver(store, { questions: 0, policy: needsApproval }, log).runtime
      const paused = status === "paused" ? await later.status("r") : await later.resume({ runId: "r" })
      expect(paused).toMatchObject({ status: "paused", pause: { reason: "approval" } })
      expect(await later.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
      expect(effects(log)).toHaveLength(1)
    },
  )

  test("a decision that is not made in time is recorded as a denial for that reason", async () => {
    const store = memoryStore()
    const policy: Policy = {
      ...needsApproval,
      ask: "wait",
      onAsk: () => new Promise<ApprovalDecision>(() => {}),
      askTimeoutMs: 1,
    }
    const { runtime } = processOver(store, { questions: 0, policy })
    expect(await runtime.run({ runId: "r", task: "Ship it." })).toMatchObject({ toolCalls: [{ status: "denied" }] })
    const records = await eventsOf(runtime, "r")
    expect(records.find(({ type }) => type === "approval-result")).toMatchObject({
      decision: "deny",
      text: "no decision was made in time",
    })
  })
})

describe("a process that dies while it asks live", () => {
  /** Runs until a record of this type is durable for the given time, and dies. */
  async function dieAt(inner: Store, type: RunEvent["type"], nth: number, log: string[]): Promise<void> {
    const { store, die, died } = mortalStore(inner)
    let seen = 0
    const onEvent = (event: RunEvent) => {
      if (event.type === type && ++seen === nth) die()
    }
    const { runtime } = processOver(store, { questions: 2, ...answering(says("a"), says("b")) }, log)
    void runtime.run({ runId: "r", task: "Ship it.", onEvent })
    await died
  }

  test.each<[RunEvent["type"], number, readonly string[]]>([
    ["tool-question", 1, ["Question 1 of 0?", "Question 2 of 0?"]],
    ["approval-request", 1, ["Question 1 of 0?", "Question 2 of 0?"]],
    ["approval-result", 1, ["Question 2 of 0?"]],
    ["tool-question", 2, ["Question 2 of 0?"]],
    ["approval-request", 2, ["Question 2 of 0?"]],
    ["approval-result", 2, []],
  ])(
    "a crash after %s number %i loses no answer: the run asks what is open, and acts once",
    async (type, nth, open) => {
      const inner = memoryStore()
      const log: string[] = []
      await dieAt(inner, type, nth, log)
      expect(effects(log)).toEqual([])
      const { requests, policy } = answering(says("x"), says("y"))
      const again = processOver(inner, { questions: 2, policy }, log)
      const result = await again.runtime.resume({ runId: "r", takeover: true })
      expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
      expect(requests.map(({ question }) => question)).toEqual(open)
      expect(effects(log)).toHaveLength(1)
    },
  )

  test.each([2, 3])(
    "a crash after intent number %i leaves the outcome unknown, and the call is never repeated",
    async (nth) => {
      const inner = memoryStore()
      const log: string[] = []
      await dieAt(inner, "tool-intent", nth, log)
      const before = effects(log).length
      const again = processOver(inner, { questions: 2, ...answering() }, log)
      const result = await again.runtime.resume({ runId: "r", takeover: true })
      expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
      expect(effects(log)).toHaveLength(before)
    },
  )
})

describe("secrets in a live answer", () => {
  test("secrets in a live answer reach the tool, and neither the journal nor the events", async () => {
    const secret = "correct-horse-battery"
    const token = `ghp_${"a1B2".repeat(9)}`
    for (const answer of [secret, token]) {
      const { policy } = answering(says(`use ${answer}`))
      const { runtime, log } = processOver(memoryStore(), { policy, config: { secrets: { TOKEN: secret } } })
      const result = await runtime.run({ runId: "r", task: "Ship it." })
      expect(log[1]).toBe(`run 0 round 1: answer use ${answer}`)
      expect(JSON.stringify([result, await eventsOf(runtime, "r")])).not.toContain(answer)
    }
  })
})

describe("an agent whose call asks", () => {
  const roles = {
    "Ship it.": [calls(agent("child")), "Done."],
    child: [calls(part("ship", { n: 0 })), "It is shipped."],
  }
  const process = (log: string[], policy: Policy, gates: "pause" | "deny") =>
    createRuntime({
      store: memoryStore(),
      model: playing(roles),
      tools: [asking({}, log)],
      agents: { gates },
      policy,
    })

  test.each(["pause", "deny"] as const)(
    "an agent whose call asks gets the answer of the callback, which knows the agent (gates: %s)",
    async (gates) => {
      const log: string[] = []
      const { requests, policy } = answering(says("go"))
      const result = await process(log, policy, gates).run({ runId: "r", task: "Ship it." })
      expect(result).toMatchObject({ status: "done", text: "Done." })
      expect(requests).toMatchObject([{ agent: expect.any(String), question: "Question 1 of 0?" }])
      expect(effects(log)).toHaveLength(1)
    },
  )

  test("an agent that must not pause is refused if the callback says pause", async () => {
    const log: string[] = []
    const runtime = process(log, answering({ decision: "pause" }).policy, "deny")
    expect(await runtime.run({ runId: "r", task: "Ship it." })).toMatchObject({ status: "done", text: "Done." })
    expect(effects(log)).toEqual([])
  })
})

describe("AskUser in a host with onAsk", () => {
  const steps = [calls(part("AskUser", { question: "Which one?" })), "Done."]
  const runtimeWith = (store: Store, policy: Policy) =>
    createRuntime({ store, model: scriptedModel(steps), tools: [askUserTool()], policy })

  test("AskUser gets the answer of the callback, without a pause", async () => {
    const { requests, policy } = answering(says("the blue one"))
    const result = await runtimeWith(memoryStore(), policy).run({ runId: "r", task: "x" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok", result: "the blue one" }] })
    expect(requests).toMatchObject([{ tool: "AskUser", question: "Which one?", reason: "input" }])
    expect(requests[0]?.by).toBeUndefined()
  })

  test.each<[string, ApprovalDecision]>([
    ["says pause", { decision: "pause" }],
    ["approves, which is no answer", { decision: "approve" }],
    ["approves always, which is no answer", { decision: "always" }],
  ])("AskUser pauses the run if the callback %s", async (_name, decision) => {
    const runtime = runtimeWith(memoryStore(), answering(decision).policy)
    expect(await runtime.run({ runId: "r", task: "x" })).toMatchObject({
      status: "paused",
      pause: { reason: "input" },
      data: { question: "Which one?" },
    })
    expect(await runtime.resume({ runId: "r", answer: "that one" })).toMatchObject({
      toolCalls: [{ result: "that one" }],
    })
  })

  test("AskUser is denied if the callback denies it", async () => {
    const runtime = runtimeWith(memoryStore(), answering({ decision: "deny", reason: "busy" }).policy)
    const result = await runtime.run({ runId: "r", task: "x" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
  })
})

describe("an approval by onAsk", () => {
  const acting = (ran: unknown[]) =>
    defineTool({
      name: "act",
      description: "acts",
      inputSchema: { type: "object" },
      risk: "high",
      run: (args) => ran.push(args),
    })
  const runWith = async (ran: unknown[], policy: Policy) => {
    const runtime = createRuntime({
      store: memoryStore(),
      model: scriptedModel([calls(part("act", { n: 1 })), "Done."]),
      tools: [acting(ran)],
      policy,
    })
    return { runtime, result: await runtime.run({ runId: "r", task: "x" }) }
  }

  test("an approval that is put off pauses the run, and a person decides later", async () => {
    const ran: unknown[] = []
    const { requests, policy } = answering({ decision: "pause" })
    const { runtime, result } = await runWith(ran, policy)
    expect(requests).toMatchObject([{ reason: "approval" }])
    expect(result).toMatchObject({ status: "paused", pause: { reason: "approval", pendingToolCall: { name: "act" } } })
    expect(ran).toEqual([])
    expect(await runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
    expect(ran).toEqual([{ n: 1 }])
  })

  test("an approval that is an answer gives it to the model, and the call, which does not run, is not ok", async () => {
    const ran: unknown[] = []
    const { result } = await runWith(ran, answering(says("I did it by hand.")).policy)
    const told = "act did not run. A person answered instead: I did it by hand."
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied", result: told }] })
    expect(ran).toEqual([])
  })

  test("an approval that comes too late still denies the call", async () => {
    const ran: unknown[] = []
    const onAsk = vi.fn(() => new Promise<ApprovalDecision>(() => {}))
    const { result } = await runWith(ran, { onAsk, askTimeoutMs: 5 })
    expect([result.status, result.toolCalls[0]?.status, ran]).toEqual(["done", "denied", []])
  })
})
