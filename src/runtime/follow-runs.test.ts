import { describe, expect, onTestFinished, test, vi } from "vitest"
import { until } from "../../test/support/watchdog.ts"
import type { RunEvent, RunRecord } from "../contract/event.ts"
import type { Store } from "../contract/store.ts"
import { createRuntime } from "../index.ts"
import { takeRun } from "../journal/journal.ts"
import { runPath, shardName } from "../journal/paths.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const work = defineTool({ name: "work", description: "works", inputSchema: { type: "object" }, run: () => "worked" })
const working = { parts: [{ toolCall: { name: "work", args: {} } }] }

/** Model steps that each wait until the test releases them. */
function gatedSteps(steps: readonly ScriptedStep[]) {
  const gates: (() => void)[] = []
  const waiting: (() => void)[] = []
  const gated = steps.map(
    (step): ScriptedStep =>
      async () => {
        await new Promise<void>((resolve) => {
          gates.push(resolve)
          waiting.shift()?.()
        })
        return step as never
      },
  )
  /** Waits for the model call, then lets it answer. */
  async function answer(): Promise<void> {
    if (gates.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    gates.shift()?.()
  }
  return { gated, answer }
}

/** Records every read operation on the runs of a store. */
function counting(inner: Store) {
  const operations: string[] = []
  const seen =
    <Arguments extends unknown[], Result>(name: string, call: (...args: Arguments) => Result) =>
    (...args: Arguments) => {
      operations.push(`${name} ${String(args[0] ?? "")}`)
      return call(...args)
    }
  const store: Store = {
    ...inner,
    folder(path) {
      const { append, ...folder } = inner.folder(path)
      return {
        ...folder,
        read: seen("read", folder.read),
        exists: seen("exists", folder.exists),
        list: seen("list", folder.list),
        ...(append && { append: { ...append, readFrom: seen("readFrom", append.readFrom) } }),
      }
    },
  }
  return { store, operations }
}

/** A store on which every flush is a separate file, as on S3. */
function createOnly(inner: Store): Store {
  return {
    ...inner,
    folder(path) {
      const { append: _, ...folder } = inner.folder(path)
      return folder
    },
  }
}

async function collect<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of events) all.push(event)
  return all
}

describe("a run of this process", () => {
  test("followers of a run of this process get its events by id, with deltas, in the order of its handle", async () => {
    const { gated, answer } = gatedSteps([working, "All done."])
    const runtime = createRuntime({ model: scriptedModel(gated), tools: [work] })
    const fromHandle: RunEvent[] = []
    await runtime.start({ runId: "r", task: "Work.", onEvent: (event) => void fromHandle.push(event) })
    const followed = collect(runtime.events("r", { follow: true, deltas: true }))
    const records = collect(runtime.events("r", { follow: true }))
    await answer()
    await answer()
    expect(await followed).toEqual(fromHandle)
    expect(fromHandle.some(({ type }) => type === "text-delta")).toBe(true)
    expect(await records).toEqual(fromHandle.filter((event) => "seq" in event))
  })

  test("followers get no delta of a text that they have read whole, however much is written while they read", async () => {
    const inner = memoryStore()
    let beforeRead = async () => {}
    const folder = (path: string) => {
      const inside = inner.folder(path)
      const read = async (name: string) => {
        if (name.endsWith(".jsonl")) await beforeRead()
        return inside.read(name)
      }
      return { ...inside, read }
    }
    const { gated, answer } = gatedSteps([{ parts: [{ text: "I work." }, ...working.parts] }, "All done."])
    const runtime = createRuntime({ store: { ...inner, folder }, model: scriptedModel(gated), tools: [work] })
    const fromHandle: RunEvent[] = []
    const hasResult = () => fromHandle.some(({ type }) => type === "tool-result")
    await runtime.start({ runId: "r", task: "Work.", onEvent: (event) => void fromHandle.push(event) })
    beforeRead = async () => {
      beforeRead = async () => {}
      await answer()
      await until(hasResult)
    }
    const events: RunEvent[] = []
    for await (const event of runtime.events("r", { follow: true, deltas: true })) {
      events.push(event)
      if (event.type === "tool-result") await answer()
    }
    expect(events.filter((event) => "seq" in event)).toEqual(fromHandle.filter((event) => "seq" in event))
    const texts = events.flatMap((event) => (event.type === "text-delta" ? event.delta : []))
    expect(texts.join("")).toBe("All done.")
  })

  test("waiting for a run of this process and following it do not poll its journal", async () => {
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { store, operations } = counting(memoryStore())
    const { gated, answer } = gatedSteps(["All done."])
    const runtime = createRuntime({ store, model: scriptedModel(gated), tools: [work] })
    await runtime.start({ runId: "r", task: "Work." })
    const waiting = runtime.waitFor("r", { timeoutMs: 600_000, pollIntervalMs: 1 })
    const following = collect(runtime.events("r", { follow: true }))
    await vi.advanceTimersByTimeAsync(50)
    const before = operations.length
    await vi.advanceTimersByTimeAsync(600)
    // The owner itself only checks for a successor and reads its inbox.
    expect(operations.slice(before).filter((operation) => !/^exists|inbox/.test(operation))).toEqual([])
    await answer()
    expect((await following).at(-1)).toMatchObject({ type: "run-end", status: "done" })
    expect(await waiting).toMatchObject({ status: "done" })
  })

  test("a follower that starts in the middle skips earlier records and their deltas", async () => {
    const { gated, answer } = gatedSteps([working, "First.", "Second."])
    const runtime = createRuntime({ model: scriptedModel(gated), tools: [work] })
    await runtime.start({ runId: "r", task: "Work." })
    await answer()
    const whole: RunRecord[] = []
    for await (const record of runtime.events("r", { follow: true })) {
      whole.push(record)
      if (record.type === "turn-start" && record.turn === 2) break
    }
    const after = whole.at(-1)?.seq ?? 0
    const rest = collect(runtime.events("r", { after, follow: true }))
    await answer()
    expect((await rest)[0]?.seq).toBe(after + 1)
    expect((await rest).at(-1)).toMatchObject({ type: "run-end" })
  })

  test("a follower ends when its signal aborts", async () => {
    const { gated, answer } = gatedSteps(["Late."])
    const runtime = createRuntime({ model: scriptedModel(gated) })
    await runtime.start({ runId: "r", task: "Work." })
    const stop = new AbortController()
    const followed = collect(runtime.events("r", { follow: true, signal: stop.signal }))
    setImmediate(() => stop.abort())
    expect((await followed)[0]).toMatchObject({ type: "run-start" })
    expect(await runtime.status("r")).toMatchObject({ status: "running" })
    await answer()
    expect(await runtime.waitFor("r")).toMatchObject({ status: "done" })
  })
})

describe.each([
  { form: "append", over: (store: Store) => store },
  { form: "create-only", over: createOnly },
])("a run of another process on an $form store", ({ over }) => {
  test("all waiters of a run of another process share one reader, and an idle poll is two operations", async () => {
    const inner = over(memoryStore())
    const { gated, answer } = gatedSteps([...Array(20).fill(working), "All done."])
    const owner = createRuntime({ store: inner, model: scriptedModel(gated), tools: [work] })
    const result = owner.run({ runId: "r", task: "Work." })
    for (let turn = 0; turn < 20; turn++) await answer()
    const { store, operations } = counting(inner)
    const other = createRuntime({ store, model: scriptedModel([]) })
    const waiters = Array.from({ length: 10 }, () => other.waitFor("r", { pollIntervalMs: 20 }))
    // Waits until all waiters and their shared reader have read the run.
    const isPolled = () => operations.every((operation) => /^exists|^readFrom/.test(operation))
    await until(() => operations.length > 20 && (isPolled() || operations.splice(0).length === 0))
    const polled = [...operations]
    expect(new Set(polled).size).toBe(2)
    // One poll after the other: a second reader would repeat an operation before the first one's poll is complete.
    for (const [index, operation] of polled.slice(1).entries()) expect(operation).not.toBe(polled[index])
    await answer()
    await result
    for (const state of await Promise.all(waiters)) expect(state).toMatchObject({ status: "done", turns: 21 })
  })

  test("concurrent followers with different starting points get every record once, without gaps", async () => {
    const inner = over(memoryStore())
    const { gated, answer } = gatedSteps([...Array(12).fill(working), "All done."])
    const owner = createRuntime({ store: inner, model: scriptedModel(gated), tools: [work] })
    const result = owner.run({ runId: "r", task: "Work." })
    await answer()
    const other = createRuntime({ store: inner, model: scriptedModel([]) })
    const followers = [collect(other.events("r", { follow: true }))]
    const joined: number[] = [-1]
    for (let turn = 1; turn < 13; turn++) {
      const after = turn % 3 === 0 ? -1 : turn
      joined.push(after)
      followers.push(collect(other.events("r", { after, follow: true })))
      // At times long enough that the followers look in vain, too.
      await new Promise((resolve) => setTimeout(resolve, turn % 4 === 0 ? 300 : 0))
      await answer()
    }
    await result
    const whole = await collect(owner.events("r"))
    for (const [index, followed] of (await Promise.all(followers)).entries()) {
      expect(followed).toEqual(whole.slice((joined[index] ?? 0) + 1))
    }
  })

  test("followers end when the run is removed", async () => {
    const inner = over(memoryStore())
    const folder = inner.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
    const first = { runId: "r", nodeId: "main", tools: [], limits: { turns: 1 } }
    const input = { messages: [], backend: "native", cwd: "." }
    await takeRun(folder, { fresh: true, first: () => [{ type: "run-start", ...first, input }] })
    const other = createRuntime({ store: inner, model: scriptedModel([]) })
    const followed: RunRecord[] = []
    const following = (async () => {
      for await (const record of other.events("r", { follow: true })) followed.push(record)
    })()
    await until(() => followed.length === 1)
    const tombstone = { type: "run-remove", runId: "r", nodeId: "main" } as const
    for (const shard of [1, 2]) await takeRun(folder, { afresh: true, first: () => [tombstone], after: shard - 1 })
    for (const shard of [0, 1]) await folder.delete(shardName(shard))
    await following
    expect(followed.every(({ type }) => type !== "run-remove")).toBe(true)
  })
})
