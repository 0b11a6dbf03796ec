import { describe, expect, test } from "vitest"
import { agent, calls, eventsOf, mortalStore, part, playing } from "../../../test/support/agent-scene.ts"
import { until } from "../../../test/support/watchdog.ts"
import { native } from "../../backends/native/index.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RunEvent } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import type { PolicyService } from "../../contract/policy.ts"
import type { Model } from "../../contract/provider.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import { type Answered, type ToolContext, ToolError } from "../../contract/tool.ts"
import { createRuntime } from "../../index.ts"
import { runPath } from "../../journal/paths.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

interface Scene {
  readonly config?: RuntimeConfig
  readonly effect?: "none" | "once" | "repeatable"
  /** How many questions the tool asks before it acts. */
  readonly questions?: number
  readonly state?: Json
  readonly calls?: number
}

/** A tool that asks before its effect, and what happened to it. */
function asking({ effect = "once", questions = 1, state = { opaque: "state-1" } }: Scene, log: string[]) {
  return defineTool({
    name: "ship",
    description: "ships",
    inputSchema: { type: "object" },
    effect,
    concurrent: true,
    async run(args: { readonly n?: number }, context: ToolContext) {
      const { answered, ask } = context
      const { round = 0 } = (answered?.state ?? {}) as { readonly round?: number }
      log.push(`run ${args.n ?? 0} round ${round}${said(answered)}`)
      if (answered?.decision === "deny") return "declined"
      if (round < questions) {
        if (!ask) throw new ToolError("denied", "Nobody can be asked.")
        return ask(`Question ${round + 1}?`, { round: round + 1, kept: state })
      }
      log.push(`effect ${args.n ?? 0}`)
      return `shipped${said(answered)}`
    },
  })
}

function said(answered: Answered | undefined): string {
  return answered === undefined ? "" : `: ${answered.decision} ${answered.text ?? "-"}`
}

/** Another process over the store. */
function processOver(store: Store, scene: Scene = {}, log: string[] = []) {
  const { calls = 1, config } = scene
  const parts = Array.from({ length: calls }, (_, n) => ({ toolCall: { name: "ship", args: { n } } }))
  const step = (messages: readonly { readonly role: string }[]) =>
    messages.some(({ role }) => role === "tool") ? "Done." : { parts }
  const model = scriptedModel([step, step, step])
  const runtime = createRuntime({ store, model, tools: [asking(scene, log)], ...config })
  return { runtime, log }
}

const effects = (log: readonly string[]) => log.filter((line) => line.startsWith("effect"))

/** Every line that the store has of the run. */
async function journalText(store: Store): Promise<string> {
  const path = runPath({ workspaceId: "default", runId: "r", nodeId: "main" })
  const texts: string[] = []
  for (const name of await store.list(path)) {
    const bytes = name.endsWith(".jsonl") ? await store.folder(path).read(name) : null
    texts.push(new TextDecoder().decode(bytes ?? undefined))
  }
  return texts.join("\n")
}

describe("a call that asks while it runs", () => {
  test("a call that asks pauses the run with its question, and continues in another process with the answer and its state", async () => {
    const store = memoryStore()
    const first = processOver(store)
    const paused = await first.runtime.run({ runId: "r", task: "Ship it." })
    expect(paused).toMatchObject({
      status: "paused",
      data: { question: "Question 1?", tool: "ship" },
      pause: { reason: "input", pendingToolCall: { name: "ship", question: "Question 1?" } },
      toolCalls: [{ status: "pending" }],
    })
    expect((await journalText(store)).match(/"type":"approval-request"/g)).toHaveLength(1)
    const { ticket = "" } = paused.pause?.pendingToolCall ?? {}
    const second = processOver(store)
    const done = await second.runtime.resume({ runId: "r", answer: "to Oslo", ticket })
    expect(done).toMatchObject({ status: "done", text: "Done.", toolCalls: [{ status: "ok" }] })
    expect(done.toolCalls[0]?.result).toBe("shipped: answer to Oslo")
    expect(second.log).toEqual(["run 0 round 1: answer to Oslo", "effect 0"])
    expect([...effects(first.log), ...effects(second.log)]).toHaveLength(1)
  })

  test("a call asks several questions, each answered in another process", async () => {
    const store = memoryStore()
    const log: string[] = []
    const scene = { questions: 3 }
    let result = await processOver(store, scene, log).runtime.run({ runId: "r", task: "Ship it." })
    for (const answer of ["a", "b", "c"]) {
      expect(result.status).toBe("paused")
      result = await processOver(store, scene, log).runtime.resume({ runId: "r", answer })
    }
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    expect(log.map((line) => line.split(": ")[1])).toEqual([undefined, "answer a", "answer b", "answer c", undefined])
    expect(effects(log)).toHaveLength(1)
  })

  test("a call that asks gets a yes without a text, and a refusal with its reason", async () => {
    for (const [given, expected] of [
      [{ decision: "approve" }, "approve -"],
      [{ decision: "always" }, "approve -"],
      [{ decision: "deny", answer: "not today" }, "deny not today"],
      [{ decision: "approve", answer: "yes" }, "answer yes"],
    ] as const) {
      const store = memoryStore()
      const { runtime, log } = processOver(store)
      await runtime.run({ runId: "r", task: "Ship it." })
      expect(await runtime.resume({ runId: "r", ...given })).toMatchObject({ status: "done" })
      expect(log[1]).toBe(`run 0 round 1: ${expected}`)
    }
  })

  test("a call that asks is not continued by a wrong ticket, by arguments or without a decision: the question stays open", async () => {
    const store = memoryStore()
    const { runtime, log } = processOver(store)
    const { pause } = await runtime.run({ runId: "r", task: "Ship it." })
    const code = async (given: object) => (await runtime.resume({ runId: "r", ...given })).error?.code
    expect(await code({ answer: "x", ticket: "wrong" })).toBe("approval_stale")
    expect(await code({ decision: "approve", args: { n: 7 } })).toBe("invalid_state")
    expect(await code({})).toBe("invalid_state")
    expect(await runtime.status("r")).toMatchObject({ status: "paused", pause: { ...pause } })
    expect(log).toHaveLength(1)
    await runtime.resume({ runId: "r", answer: "x", ticket: pause?.pendingToolCall?.ticket ?? "" })
    expect(await code({ answer: "y", ticket: pause?.pendingToolCall?.ticket ?? "" })).toBe("invalid_state")
    expect(effects(log)).toHaveLength(1)
  })

  test("a call that asks for ever is stopped after ten questions", async () => {
    const store = memoryStore()
    const log: string[] = []
    const scene = { questions: 1000 }
    let result = await processOver(store, scene, log).runtime.run({ runId: "r", task: "Ship it." })
    let answers = 0
    while (result.status === "paused" && answers < 50) {
      answers++
      result = await processOver(store, scene, log).runtime.resume({ runId: "r", answer: "again" })
    }
    expect(answers).toBe(10)
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
    expect(result.toolCalls[0]?.result).toContain("has asked 10 questions")
    expect(effects(log)).toEqual([])
  })

  test("a call that asks may have 256 KB of state, and no byte more", async () => {
    const rest = JSON.stringify({ round: 1, kept: "" }).length
    for (const [more, status] of [
      [0, "paused"],
      [1, "done"],
    ] as const) {
      const { runtime } = processOver(memoryStore(), { state: "x".repeat(256 * 1024 - rest + more) })
      expect((await runtime.run({ runId: "r", task: "Ship it." })).status).toBe(status)
    }
  })

  test("a call with too much state, or with state that is not JSON, fails before the run pauses", async () => {
    for (const state of ["x".repeat(300_000), { at: undefined as unknown as Json, f: (() => 1) as unknown as Json }]) {
      const { runtime } = processOver(memoryStore(), { state })
      const result = await runtime.run({ runId: "r", task: "Ship it." })
      expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
      expect(result.toolCalls[0]?.result).toContain("cannot ask")
    }
  })

  test("a call that ignores that it has asked and asks again keeps its first question", async () => {
    const errors: unknown[] = []
    const tool = defineTool({
      name: "ship",
      description: "ships",
      inputSchema: { type: "object" },
      async run(_: object, { ask }: ToolContext) {
        for (const question of ["First?", "Second?"]) await ask?.(question, null).catch((error) => errors.push(error))
        return "shipped"
      },
    })
    const { runtime } = processOver(memoryStore(), { config: { tools: [tool] } })
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(result).toMatchObject({ status: "paused", pause: { pendingToolCall: { question: "First?" } } })
    expect(errors).toMatchObject([{ code: "aborted" }, { code: "conflict" }])
  })

  test("the state of a call is in the journal only: events, results and the replay come without it", async () => {
    const store = memoryStore()
    const seen: RunEvent[] = []
    const { runtime } = processOver(store, { state: "opaque-state-77" })
    const onEvent = (event: RunEvent) => seen.push(event)
    const paused = await runtime.run({ runId: "r", task: "Ship it.", onEvent })
    const told = [seen, paused, await eventsOf(runtime, "r"), await runtime.status("r")]
    await runtime.replay("r", { onEvent })
    for await (const event of runtime.events("r", { follow: true })) seen.push(event)
    expect(seen.filter(({ type }) => type === "tool-question")).toHaveLength(3)
    expect(JSON.stringify(told)).not.toContain("opaque-state-77")
    expect(await journalText(store)).toContain("opaque-state-77")
  })

  test("a call of an effect that may be repeated, or none, asks and continues in the same way", async () => {
    for (const effect of ["none", "repeatable"] as const) {
      const store = memoryStore()
      const first = processOver(store, { effect })
      expect(await first.runtime.run({ runId: "r", task: "Ship it." })).toMatchObject({ status: "paused" })
      const second = processOver(store, { effect })
      expect(await second.runtime.resume({ runId: "r", answer: "go" })).toMatchObject({
        status: "done",
        toolCalls: [{ status: "ok" }],
      })
      expect(second.log).toEqual(["run 0 round 1: answer go", "effect 0"])
    }
  })
})

test("the question of a call that began before its answer was complete counts only if the answer is used", async () => {
  const log: string[] = []
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  let attempts = 0
  const model: Model = {
    provider: "p",
    id: "m",
    converse: () => ({
      async call(messages, sink) {
        if (messages.length > 1)
          return { parts: [{ type: "text", text: "Done." }], stopReason: "end", usage, model: "m" }
        const part = { type: "tool-call", wireId: "w", name: "ship", args: { n: ++attempts } } as const
        sink.call?.(part, 0)
        await until(() => log.length === attempts)
        if (attempts === 1) throw new LonghaulError("network", "The answer broke off.", { retryable: true })
        return { parts: [part], stopReason: "tool-calls", usage, model: "m" }
      },
    }),
  }
  const config = { model, backend: native({ retry: { firstMs: 1 } }) }
  const { runtime } = processOver(memoryStore(), { effect: "none", config }, log)
  const paused = await runtime.run({ runId: "r", task: "Ship it." })
  expect(paused).toMatchObject({ status: "paused", data: { question: "Question 1?", args: { n: 2 } } })
  const records = await eventsOf(runtime, "r")
  expect(records.filter(({ type }) => type === "tool-question")).toHaveLength(1)
  expect(await runtime.resume({ runId: "r", answer: "go" })).toMatchObject({ status: "done" })
  expect(effects(log)).toEqual(["effect 2"])
})

describe("several calls of a step that ask", () => {
  test.each(["none", "once"] as const)(
    "several calls of a step are asked about one after another, and each acts once (effect %s)",
    async (effect) => {
      const store = memoryStore()
      const log: string[] = []
      const scene = { calls: 3, effect }
      let result = await processOver(store, scene, log).runtime.run({ runId: "r", task: "Ship it." })
      const asked: unknown[] = []
      while (result.status === "paused") {
        asked.push(result.pause?.pendingToolCall?.id)
        result = await processOver(store, scene, log).runtime.resume({ runId: "r", answer: `for ${asked.length}` })
      }
      expect(asked).toEqual(["1.0", "1.1", "1.2"])
      expect(result).toMatchObject({
        status: "done",
        toolCalls: [{ status: "ok" }, { status: "ok" }, { status: "ok" }],
      })
      expect(effects(log)).toEqual(["effect 0", "effect 1", "effect 2"])
      expect(result.toolCalls.map((call) => call.result)).toEqual([1, 2, 3].map((n) => `shipped: answer for ${n}`))
    },
  )
})

/** Answers in a process that dies once a record of this type is durable. */
async function answerAndDie(inner: Store, scene: Scene, log: string[], type: RunEvent["type"]): Promise<void> {
  const { store, die, died } = mortalStore(inner)
  const { runtime } = processOver(store, scene, log)
  const onEvent = (event: RunEvent) => {
    if (event.type === type) die()
  }
  void runtime.resume({ runId: "r", answer: "go", onEvent })
  await died
}

describe("a process that dies", () => {
  test("a crash after the answer is recorded and before the call runs again loses nothing: the call continues with that answer", async () => {
    const store = memoryStore()
    const log: string[] = []
    await processOver(store, {}, log).runtime.run({ runId: "r", task: "Ship it." })
    await answerAndDie(store, {}, log, "approval-result")
    expect(effects(log)).toEqual([])
    const third = processOver(store, {}, log)
    const result = await third.runtime.resume({ runId: "r", takeover: true })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok", result: "shipped: answer go" }] })
    expect(effects(log)).toHaveLength(1)
  })

  test("a crash after the intent of the answered call leaves its outcome unknown, and it is never repeated", async () => {
    const store = memoryStore()
    const log: string[] = []
    await processOver(store, {}, log).runtime.run({ runId: "r", task: "Ship it." })
    await answerAndDie(store, {}, log, "tool-intent")
    const third = processOver(store, {}, log)
    const result = await third.runtime.resume({ runId: "r", takeover: true })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(effects(log).length).toBeLessThanOrEqual(1)
    expect(log.filter((line) => line.includes("round 1")).length).toBeLessThanOrEqual(1)
  })

  test("a crash after a second question is recorded loses nothing: the run waits for its answer", async () => {
    const store = memoryStore()
    const log: string[] = []
    const scene = { questions: 2 }
    await processOver(store, scene, log).runtime.run({ runId: "r", task: "Ship it." })
    await answerAndDie(store, scene, log, "tool-question")
    const third = processOver(store, scene, log)
    const again = await third.runtime.resume({ runId: "r", takeover: true })
    expect(again).toMatchObject({ status: "paused", pause: { pendingToolCall: { question: "Question 2?" } } })
    expect(await third.runtime.resume({ runId: "r", answer: "b" })).toMatchObject({ status: "done" })
    expect(effects(log)).toHaveLength(1)
    expect(log.filter((line) => line.includes("round 1"))).toHaveLength(1)
  })

  test("a crash in the first attempt, before any question is recorded, leaves the outcome unknown", async () => {
    const inner = memoryStore()
    const log: string[] = []
    const { store, die, died } = mortalStore(inner)
    const onEvent = (event: RunEvent) => {
      if (event.type === "tool-intent") die()
    }
    void processOver(store, {}, log).runtime.run({ runId: "r", task: "Ship it.", onEvent })
    await died
    const result = await processOver(inner, {}, log).runtime.resume({ runId: "r", takeover: true })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(effects(log)).toEqual([])
  })
})

describe("a run with an open question of a call", () => {
  test("a cancelled run with an open question has a pending call, not an unknown one, and can still be continued", async () => {
    const store = memoryStore()
    const { runtime, log } = processOver(store)
    await runtime.run({ runId: "r", task: "Ship it." })
    await runtime.cancel("r")
    expect(await runtime.status("r")).toMatchObject({ status: "cancelled", toolCalls: [{ status: "pending" }] })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "paused", data: { question: "Question 1?" } })
    expect(await runtime.resume({ runId: "r", answer: "go" })).toMatchObject({ status: "done" })
    expect(effects(log)).toHaveLength(1)
  })

  test("a question that was asked while the run was being stopped is not lost: it is asked when the run is resumed", async () => {
    const log: string[] = []
    let stop = () => {}
    const config = { hooks: { preToolCall: () => stop() } }
    const { runtime } = processOver(memoryStore(), { config }, log)
    const handle = runtime.stream({ runId: "r", task: "Ship it." })
    stop = () => void handle.interrupt("graceful")
    expect(await handle.result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "pending" }] })
    stop = () => {}
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "paused", data: { question: "Question 1?" } })
    expect(await runtime.resume({ runId: "r", answer: "go" })).toMatchObject({ status: "done" })
    expect(effects(log)).toHaveLength(1)
  })

  test("an open question of a forked run is continued by the original only: the fork does not send its state", async () => {
    const store = memoryStore()
    const { runtime, log } = processOver(store)
    await runtime.run({ runId: "r", task: "Ship it." })
    const fork = await runtime.fork("r")
    const forked = await runtime.resume({ runId: fork.runId })
    expect(forked).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(effects(log)).toEqual([])
    expect(await runtime.resume({ runId: "r", answer: "go" })).toMatchObject({ status: "done" })
    expect(effects(log)).toHaveLength(1)
  })

  test("a call that nobody approved is not continued by its answer if the policy now asks for an approval", async () => {
    const store = memoryStore()
    await processOver(store).runtime.run({ runId: "r", task: "Ship it." })
    const asks = { policy: { ask: "pause", rules: [{ ask: { tool: "ship" } }] } } as const
    const second = processOver(store, { config: asks })
    const result = await second.runtime.resume({ runId: "r", answer: "go" })
    expect(result.toolCalls).toMatchObject([{ status: "denied", result: expect.stringContaining("have changed") }])
    expect(second.log).toEqual([])
  })

  test("a call that a person approved before it asked is continued by its answer, without a second approval", async () => {
    const store = memoryStore()
    const asks = { policy: { ask: "pause", rules: [{ ask: { tool: "ship" } }] } } as const
    const log: string[] = []
    const next = () => processOver(store, { config: asks }, log).runtime
    expect(await next().run({ runId: "r", task: "Ship it." })).toMatchObject({ pause: { reason: "approval" } })
    expect(await next().resume({ runId: "r", decision: "approve" })).toMatchObject({ pause: { reason: "input" } })
    expect(await next().resume({ runId: "r", answer: "go" })).toMatchObject({ status: "done" })
    expect(effects(log)).toHaveLength(1)
  })

  test("a run whose policy now denies the call does not continue it", async () => {
    const store = memoryStore()
    const first = processOver(store)
    await first.runtime.run({ runId: "r", task: "Ship it." })
    const second = processOver(store, { config: { policy: { rules: [{ deny: { tool: "ship" } }] } } })
    const result = await second.runtime.resume({ runId: "r", answer: "go" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(result.toolCalls[0]?.result).not.toContain("have changed since it asked")
    expect(second.log).toEqual([])
  })
})

test("an answered call that a service now allows with other arguments only is not continued", async () => {
  const store = memoryStore()
  await processOver(store).runtime.run({ runId: "r", task: "Ship it." })
  const decide: PolicyService["decide"] = async () => ({ decision: "allow", args: { n: 7 } })
  const services = [{ decide, scan: async () => ({ decision: "allow" as const }) }]
  const { runtime, log } = processOver(store, { config: { policy: { services } } })
  const result = await runtime.resume({ runId: "r", answer: "go" })
  expect(log).toEqual([])
  expect(result.toolCalls).toMatchObject([{ status: "denied", result: expect.stringContaining("have changed") }])
})

test("a call of a run that is being stopped is decided by nobody", async () => {
  const stop = new AbortController()
  const decided: string[] = []
  const hooks = {
    gateBeforeTool(_: string, { callId }: { readonly callId: string }) {
      decided.push(callId)
      stop.abort()
      return { allow: true } as const
    },
  }
  const { runtime, log } = processOver(memoryStore(), { calls: 3, questions: 0, config: { hooks } })
  expect(await runtime.run({ task: "Ship it.", signal: stop.signal })).toMatchObject({ status: "cancelled" })
  expect([decided.length, log]).toEqual([1, []])
})

describe("an agent whose call asks", () => {
  const roles = {
    "Ship it.": [calls(agent("child")), "Done."],
    child: [calls(part("ship", { n: 0 })), "It is shipped."],
  }
  const process = (store: Store, log: string[], more: RuntimeConfig = {}) =>
    createRuntime({ store, model: playing(roles), tools: [asking({ questions: 2 }, log)], agents: {}, ...more })

  test("an agent whose call asks pauses the run, which hands the answers down to it", async () => {
    const store = memoryStore()
    const log: string[] = []
    const secrets = { TOKEN: "correct-horse-battery" }
    const first = await process(store, log, { secrets }).run({ runId: "r", task: "Ship it." })
    expect(first).toMatchObject({
      status: "paused",
      pause: { reason: "input", pendingToolCall: { name: "ship", question: "Question 1?", agent: expect.any(String) } },
    })
    const yes = await process(store, log, { secrets }).resume({ runId: "r", decision: "approve" })
    expect(yes).toMatchObject({ status: "paused", data: { question: "Question 2?" } })
    const { ticket = "" } = yes.pause?.pendingToolCall ?? {}
    const answer = `with ${secrets.TOKEN}`
    const stale = await process(store, log, { secrets }).resume({ runId: "r", answer, ticket: "wrong" })
    expect(stale.error?.code).toBe("approval_stale")
    const done = await process(store, log, { secrets }).resume({ runId: "r", answer, ticket })
    expect(done).toMatchObject({ status: "done", text: "Done." })
    expect(log).toEqual(["run 0 round 0", "run 0 round 1: approve -", `run 0 round 2: answer ${answer}`, "effect 0"])
    expect(await journalText(store)).not.toContain(secrets.TOKEN)
  })

  test("a call that asks is refused at once for an agent that cannot ask a person", async () => {
    const log: string[] = []
    const runtime = process(memoryStore(), log, { agents: { gates: "deny" } })
    expect(await runtime.run({ runId: "r", task: "Ship it." })).toMatchObject({ status: "done", text: "Done." })
    expect(effects(log)).toEqual([])
  })
})

describe("secrets", () => {
  const secret = "correct-horse-battery"
  const secrets = { secrets: { TOKEN: secret } }

  test("a declared secret in question, state and answer is masked in the journal, and the tool gets its value", async () => {
    const store = memoryStore()
    const first = processOver(store, { config: secrets, state: { auth: secret } })
    await first.runtime.run({ runId: "r", task: "Ship it." })
    const second = processOver(store, { config: secrets, state: { auth: secret } })
    const result = await second.runtime.resume({ runId: "r", answer: `use ${secret}` })
    expect(second.log[0]).toBe(`run 0 round 1: answer use ${secret}`)
    expect(result.toolCalls[0]?.result).not.toContain(secret)
    expect(await journalText(store)).not.toContain(secret)
  })

  test("state with a secret that this process does not have ends the call: the tool never runs with the mask", async () => {
    const store = memoryStore()
    await processOver(store, { config: secrets, state: { auth: secret } }).runtime.run({ runId: "r", task: "Ship it." })
    const { runtime, log } = processOver(store)
    const result = await runtime.resume({ runId: "r", answer: "go" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
    expect(result.toolCalls[0]?.result).toContain("a secret for the answer that this process does not have")
    expect(log).toEqual([])
  })

  test("a token that nobody declared reaches the tool in the process that got the answer, and no journal", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`
    const store = memoryStore()
    const { runtime, log } = processOver(store)
    await runtime.run({ runId: "r", task: "Ship it." })
    await runtime.resume({ runId: "r", answer: token })
    expect(log[1]).toBe(`run 0 round 1: answer ${token}`)
    expect(await journalText(store)).not.toContain(token)
  })

  test("a token that only a dead process had is asked for again, and its mask is not used", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`
    const inner = memoryStore()
    const log: string[] = []
    await processOver(inner, {}, log).runtime.run({ runId: "r", task: "Ship it." })
    const { store, die, died } = mortalStore(inner)
    const onEvent = (event: RunEvent) => {
      if (event.type === "approval-result") die()
    }
    void processOver(store, {}, log).runtime.resume({ runId: "r", answer: token, onEvent })
    await died
    const { runtime } = processOver(inner, {}, log)
    const again = await runtime.resume({ runId: "r", takeover: true })
    expect(again).toMatchObject({ status: "paused" })
    expect(again.pause?.pendingToolCall?.question).toContain("answer again")
    expect(await runtime.resume({ runId: "r", answer: token })).toMatchObject({ status: "done" })
    expect(log.filter((line) => line.includes("round 1"))).toEqual([`run 0 round 1: answer ${token}`])
  })

  test("a credential that no process can restore is not recorded: the call fails instead of asking", async () => {
    const credential = "store-password-1234"
    const inner = memoryStore()
    const store = { ...inner, credentials: () => ({ key: credential }) }
    const { runtime } = processOver(store, { state: { auth: credential } })
    const result = await runtime.run({ runId: "r", task: "Ship it." })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
    expect(result.toolCalls[0]?.result).toContain("must not be recorded")
    expect(await journalText(inner)).not.toContain(credential)
  })

  test("state in the form of a token comes back unchanged in another process", async () => {
    const state = `eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIiOiIxMjM0NTY3ODkwIn0"}.${"dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"}`
    const kept: unknown[] = []
    const tool = defineTool({
      name: "ship",
      description: "ships",
      inputSchema: { type: "object" },
      run: (_: Json, { answered, ask }: ToolContext) => {
        if (!answered) return ask?.("Go?", { state })
        kept.push(answered.state)
        return "ok"
      },
    })
    const store = memoryStore()
    const config = { tools: [tool] }
    await processOver(store, { config }).runtime.run({ runId: "r", task: "x" })
    await processOver(store, { config }).runtime.resume({ runId: "r", answer: "go" })
    expect(kept).toEqual([{ state }])
  })
})
