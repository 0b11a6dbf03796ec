import { describe, expect, test } from "vitest"
import { until } from "../../test/support/watchdog.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Message } from "../contract/message.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import type { Store } from "../contract/store.ts"
import { createRuntime } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const input = { type: "object" } as const
const TURNS = 6

/** A model that calls the tool in every turn except the last, in any process. */
const model = (runs = 1) =>
  scriptedModel(
    Array(runs * TURNS).fill((messages: readonly Message[]) => {
      const turns = messages.filter(({ role }) => role === "assistant").length
      return turns === TURNS - 1 ? "All sent." : { parts: [{ toolCall: { name: "send", args: { turns } } }] }
    }),
  )

function sending(effects: string[], during?: () => void) {
  return defineTool({
    name: "send",
    description: "sends",
    inputSchema: input,
    effect: "once",
    run(_, { idempotencyKey }) {
      during?.()
      effects.push(idempotencyKey)
      return "sent"
    },
  })
}

/** Another runtime over the same store, like that of another process. */
const runtimeOver = (store: Store, effects: string[], config: RuntimeConfig = {}) =>
  createRuntime({ store, model: model(), tools: [sending(effects)], ...config })

async function recordsOf(store: Store, runId: string): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of createRuntime({ store, model: model() }).events(runId)) records.push(record)
  return records
}

describe("release", () => {
  test("a release finishes the turn with all its calls, starts no other and pauses the run as released", async () => {
    const store = memoryStore()
    const effects: string[] = []
    let release = () => false
    const tools = [sending(effects, () => release())]
    const runtime = createRuntime({ store, model: model(), tools })
    const handle = runtime.stream({ runId: "r", task: "Send." })
    release = () => handle.release()
    const result = await handle.result
    expect(result).toMatchObject({ status: "paused", turns: 1, data: null, pause: { reason: "released" } })
    expect(result.pause?.pendingToolCall).toBeNull()
    expect(result.toolCalls).toMatchObject([{ status: "ok" }])
    expect((await recordsOf(store, "r")).at(-1)).toMatchObject({ type: "run-pause", reason: "released" })
    expect(handle.release()).toBe(false)

    const other = await runtimeOver(store, effects).resume({ runId: "r" })
    expect(other).toMatchObject({ status: "done", turns: TURNS, text: "All sent." })
    expect(new Set(effects).size).toBe(TURNS - 1)
    expect(effects).toHaveLength(TURNS - 1)
  })

  test("a release before the first turn pauses the run without a model call", async () => {
    const asked = model()
    const handle = createRuntime({ store: memoryStore(), model: asked, tools: [sending([])] }).stream({ task: "Send." })
    expect(handle.release()).toBe(true)
    expect(await handle.result).toMatchObject({ status: "paused", turns: 0, pause: { reason: "released" } })
    expect(asked.calls).toHaveLength(0)
  })

  test("a release in the turn of the final answer lets the run end", async () => {
    const runtime = createRuntime({ model: scriptedModel([() => "Done."]) })
    let release = () => false
    const handle = runtime.stream({ task: "x", onEvent: ({ type }) => void (type === "turn-start" && release()) })
    release = () => handle.release()
    expect(await handle.result).toMatchObject({ status: "done", text: "Done." })
  })

  test("a release is rejected while the run is being stopped, and a stop after it cancels the run", async () => {
    const stopped = createRuntime({ model: model(), tools: [sending([])] }).stream({ task: "x" })
    stopped.interrupt()
    expect(stopped.release()).toBe(false)
    expect(await stopped.result).toMatchObject({ status: "cancelled" })
    const released = createRuntime({ model: model(), tools: [sending([])] }).stream({ task: "x" })
    released.release()
    expect(released.interrupt("immediate")).toBe(true)
    expect(await released.result).toMatchObject({ status: "cancelled" })
  })

  test("a release keeps steering messages that were not delivered yet", async () => {
    const store = memoryStore()
    const handle = runtimeOver(store, []).stream({ runId: "r", task: "Send." })
    handle.steer("To Rome, please.")
    handle.release()
    await handle.result
    const seen: string[] = []
    const reading = scriptedModel([
      (messages) => {
        seen.push(JSON.stringify(messages))
        return "Done."
      },
    ])
    await createRuntime({ store, model: reading, tools: [sending([])] }).resume({ runId: "r" })
    expect(seen[0]?.match(/To Rome, please\./g)).toHaveLength(1)
  })
})

describe("slice", () => {
  test.each([1, 2, 4, TURNS, TURNS + 1])("a slice of %i turns ends after them", async (turns) => {
    const store = memoryStore()
    const effects: string[] = []
    let result = await runtimeOver(store, effects).run({ runId: "r", task: "Send.", slice: { turns } })
    let slices = 1
    for (; result.status === "paused"; slices++) {
      expect(result.turns).toBe(slices * turns)
      result = await runtimeOver(store, effects).resume({ runId: "r", slice: { turns } })
    }
    expect(result).toMatchObject({ status: "done", turns: TURNS })
    expect(slices).toBe(Math.ceil(TURNS / turns))
    expect(new Set(effects).size).toBe(effects.length)
    expect(effects).toHaveLength(TURNS - 1)
  })

  test("a slice has at least one turn, however short its time is", async () => {
    const slow = scriptedModel(
      Array(TURNS).fill(async (messages: readonly Message[]) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return messages.length > 1 ? "Done." : { parts: [{ toolCall: { name: "send", args: {} } }] }
      }),
    )
    const runtime = createRuntime({ store: memoryStore(), model: slow, tools: [sending([])] })
    const first = await runtime.run({ runId: "r", task: "x", slice: { timeMs: 1 } })
    expect(first).toMatchObject({ status: "paused", turns: 1, pause: { reason: "released" } })
    expect(await runtime.resume({ runId: "r", slice: { timeMs: 1 } })).toMatchObject({ status: "done", turns: 2 })
  })

  test("an invalid slice is rejected", async () => {
    const runtime = createRuntime({ model: model() })
    for (const slice of [{ turns: 0 }, { timeMs: 1.5 }, { turn: 3 }]) {
      const { error } = await runtime.run({ task: "x", slice: slice as { turns: number } })
      expect(error).toMatchObject({ code: "config_invalid" })
    }
  })

  test("a slice applies to an exchange that continues a conversation", async () => {
    const runtime = runtimeOver(memoryStore(), [])
    await runtime.run({ runId: "r", task: "Send." })
    const asking = scriptedModel([{ parts: [{ toolCall: { name: "send", args: {} } }] }])
    const next = await runtime.continue("r", "Again.", { model: asking, slice: { turns: 1 } })
    expect(next).toMatchObject({ status: "paused", turns: 1, pause: { reason: "released" } })
  })

  test("a released run is resumed by the process that released it without reading its journal again", async () => {
    const reads: string[] = []
    const { folder: _, ...memory } = memoryStore()
    const inner = memoryStore()
    const store: Store = {
      ...memory,
      list: (...args) => inner.list(...args),
      folder(path) {
        const { append: __, ...folder } = inner.folder(path)
        const read: typeof folder.read = (name) => {
          reads.push(name)
          return folder.read(name)
        }
        return { ...folder, read }
      },
    }
    const runtime = runtimeOver(store, [])
    let result = await runtime.run({ runId: "r", task: "Send.", slice: { turns: 1 } })
    reads.length = 0
    while (result.status === "paused") result = await runtime.resume({ runId: "r", slice: { turns: 1 } })
    expect(result).toMatchObject({ status: "done", turns: TURNS })
    expect(reads.filter((name) => name.endsWith(".jsonl"))).toEqual([])
  })

  test("a released run that another process continued is read again", async () => {
    const store = memoryStore()
    const effects: string[] = []
    const first = runtimeOver(store, effects)
    await first.run({ runId: "r", task: "Send.", slice: { turns: 1 } })
    await runtimeOver(store, effects).resume({ runId: "r", slice: { turns: 2 } })
    expect(await first.resume({ runId: "r" })).toMatchObject({ status: "done", turns: TURNS })
    expect(new Set(effects).size).toBe(effects.length)
    expect(effects).toHaveLength(TURNS - 1)
  })
})

describe("close with release", () => {
  test("close with release pauses every run as released, including queued ones, and cancels none", async () => {
    const store = memoryStore()
    const effects: string[] = []
    const begun: (() => void)[] = []
    const waiting = scriptedModel(
      Array(2).fill(() => new Promise((resolve) => begun.push(() => resolve("Done after all.")))),
    )
    const runtime = createRuntime({ store, model: waiting, tools: [sending(effects)], concurrency: 1 })
    const ids = ["a", "b", "c"]
    const started = await Promise.all(ids.map((runId) => runtime.start({ runId, task: "Send." })))
    expect(started.map(({ status }) => status)).toEqual(["running", "queued", "queued"])
    while (begun.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const closing = runtime.close({ release: true })
    expect(await runtime.run({ task: "late" })).toMatchObject({ error: { code: "invalid_state" } })
    for (const finish of begun) finish()
    await closing

    const other = runtimeOver(store, effects)
    const states = await Promise.all(ids.map((runId) => other.status(runId)))
    expect(states.map(({ status, pause }) => [status, pause?.reason])).toEqual([
      ["done", undefined],
      ["paused", "released"],
      ["paused", "released"],
    ])
    expect((await other.runs({ status: "paused" })).map(({ runId, pause }) => [runId, pause]).sort()).toEqual([
      ["b", "released"],
      ["c", "released"],
    ])
    for (const runId of ["b", "c"]) {
      expect(await runtimeOver(store, effects).resume({ runId })).toMatchObject({ status: "done" })
    }
  })

  test("recovery resumes released runs, also queued ones, and leaves slices and approvals alone", async () => {
    const store = memoryStore()
    const effects: string[] = []
    const inSlices = runtimeOver(store, effects)
    expect((await inSlices.run({ runId: "slice", task: "Send.", slice: { turns: 1 } })).pause?.reason).toBe("released")
    const asking = createRuntime({
      store,
      tools: [{ ...sending([]), risk: "high" }],
      policy: { ask: "pause" },
      model: model(),
    })
    expect((await asking.run({ runId: "approval", task: "Send." })).pause?.reason).toBe("approval")

    let release = () => {}
    const first = createRuntime({ store, model: model(2), tools: [sending(effects, () => release())], concurrency: 1 })
    let closing: Promise<void> | undefined
    release = () => {
      closing ??= first.close({ release: true })
    }
    await first.start({ runId: "active", task: "Send." })
    await first.start({ runId: "queued", task: "Send." })
    await first.waitFor("active")
    await closing
    expect((await runtimeOver(store, effects).recoverOrphanedRuns()).length).toBe(0)

    const next = createRuntime({ store, tools: [sending(effects)], model: model(2), recover: "resume" })
    await until(async () => (await next.runs({ status: "done" })).length === 2)
    expect((await next.runs({ status: "done" })).map(({ runId }) => runId).sort()).toEqual(["active", "queued"])
    expect((await next.runs({ status: "paused" })).map(({ runId }) => runId).sort()).toEqual(["approval", "slice"])
    expect(await next.recoverOrphanedRuns({ action: "resume" })).toEqual([])
  })

  test("close without release cancels the runs", async () => {
    const store = memoryStore()
    const runtime = createRuntime({ store, model: scriptedModel([() => new Promise(() => {})]) })
    await runtime.start({ runId: "r", task: "x" })
    await runtime.close()
    expect(await createRuntime({ store, model: model() }).status("r")).toMatchObject({ status: "cancelled" })
  })

  test("close rejects a misspelt option", async () => {
    const runtime = createRuntime({ model: model() })
    await expect(runtime.close({ realease: true } as object)).rejects.toMatchObject({
      code: "config_invalid",
    })
  })
})
