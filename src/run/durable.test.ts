import { describe, expect, onTestFinished, test, vi } from "vitest"
import { watchedInbox } from "../../test/support/inbox-watch.ts"
import { laterMillisecond, until } from "../../test/support/watchdog.ts"
import { native } from "../backends/native/index.ts"
import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Json, JsonObject } from "../contract/json.ts"
import type { RuntimeConfig } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { Store } from "../contract/store.ts"
import { createRuntime } from "../index.ts"
import { takeRun } from "../journal/journal.ts"
import { Ownership } from "../journal/ownership.ts"
import { inboxName, runPath, shardName } from "../journal/paths.ts"
import { project } from "../journal/projection.ts"
import { assembleRuntime } from "../runtime/runtime.ts"
import { memoryStore } from "../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const anyInput = { type: "object" } as const
const call = (name: string, args = {}) => ({ parts: [{ toolCall: { name, args } }] })
const tool = (name: string, run: (args: never, context: never) => unknown, more: object = {}) =>
  defineTool({ name, description: name, inputSchema: anyInput, run, ...more })

function runtimeOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  return { model, runtime: createRuntime({ model, store, backend: native({ retry: { firstMs: 1 } }), ...config }) }
}

function deferred<Value>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((given) => {
    resolve = given
  })
  return { promise, resolve }
}

const noAccount = new LonghaulError("auth", "There is no such account.")

const hanging = () => new Promise<never>(() => {})

async function recordsOf(runtime: Runtime, runId: string): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of runtime.events(runId)) records.push(record)
  return records
}

/** A run whose process dies in the middle of a call, so that other processes find only its journal. */
async function crashed(store: Store, name: string, more: object = {}, config: RuntimeConfig = {}): Promise<void> {
  const started = deferred<void>()
  const stuck = tool(
    name,
    () => {
      started.resolve()
      return hanging()
    },
    more,
  )
  const { runtime } = runtimeOver(store, [call(name, { n: 1 })], { tools: [stuck], ...config })
  void runtime.run({ task: "x", runId: "r" })
  await started.promise
}

describe("a run whose process died", () => {
  test("a run with an unknown owner is run_active until a takeover is requested", async () => {
    const store = memoryStore()
    await crashed(store, "pay")
    const { runtime } = runtimeOver(store, ["Done."], { tools: [tool("pay", () => "paid")] })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "failed", error: { code: "run_active" } })
    expect(await runtime.resume({ runId: "r", takeover: true })).toMatchObject({ status: "done" })
  })

  test("a run that its live owner ends while it is being taken over is done, and nothing is resumed", async () => {
    const inner = memoryStore()
    const answer = deferred<string>()
    const asked = deferred<void>()
    const owner = runtimeOver(inner, [
      async () => {
        asked.resolve()
        return { parts: [{ text: await answer.promise }] }
      },
    ])
    const ended = owner.runtime.run({ task: "x", runId: "r" })
    await asked.promise
    // The owner ends its run after the other has read it, and before the other creates its shard.
    const slow: Store = {
      ...inner,
      folder(path) {
        const folder = inner.folder(path)
        const { append } = folder
        if (append === undefined) return folder
        const open: typeof append.open = async (name, first) => {
          answer.resolve("Done.")
          await ended
          return append.open(name, first)
        }
        return { ...folder, append: { ...append, open } }
      },
    }
    const { runtime, model } = runtimeOver(slow, ["Once more."])
    const result = await runtime.resume({ runId: "r", takeover: true })
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_state" } })
    expect(model.calls).toEqual([])
    const reader = runtimeOver(inner, []).runtime
    expect(await reader.status("r")).toMatchObject({ status: "done", text: "Done." })
    expect((await recordsOf(reader, "r")).map(({ type }) => type)).toContain("run-end")
  })

  test("a `once` call with an unknown outcome is flagged and never run again", async () => {
    const store = memoryStore()
    await crashed(store, "pay")
    const again: string[] = []
    const { runtime, model } = runtimeOver(store, ["I will check."], { tools: [tool("pay", () => again.push("paid"))] })
    const result = await runtime.resume({ runId: "r", takeover: true })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(JSON.stringify(model.calls[0])).toContain("may or may not have happened")
    expect(again).toEqual([])
  })

  test("a `repeatable` call is run again only if no other process can still be running it", async () => {
    for (const gone of [true, false]) {
      const store = memoryStore()
      await crashed(store, "put", { effect: "repeatable" })
      const again: string[] = []
      const tools = [tool("put", () => again.push("put") && "put", { effect: "repeatable" })]
      const { runtime } = runtimeOver(store, ["Done."], { tools })
      if (gone) await endByHand(store)
      const result = await runtime.resume({ runId: "r", takeover: !gone })
      expect(result.toolCalls).toMatchObject([{ status: gone ? "ok" : "unknown" }])
      expect(again).toHaveLength(gone ? 1 : 0)
    }
  })

  test("a `repeatable` call that the policy now denies is neither run again nor asked about: its outcome is unknown", async () => {
    const store = memoryStore()
    await crashed(store, "put", { effect: "repeatable" })
    await endByHand(store)
    const again: string[] = []
    const tools = [tool("put", () => again.push("put") && "put", { effect: "repeatable" })]
    const policy = { rules: [{ deny: { tool: "put" } }] }
    const { runtime } = runtimeOver(store, ["Done."], { tools, policy })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(again).toEqual([])
  })

  test.each([
    ["asks about it", { ask: { tool: "put" } }],
    ["changes its arguments", { allow: { tool: "put" }, set: { "/n": 2 } }],
  ])("a `repeatable` call is not run again if the policy now %s: a person decides", async (_, rule) => {
    const store = memoryStore()
    await crashed(store, "put", { effect: "repeatable" })
    await endByHand(store)
    const again: string[] = []
    const tools = [tool("put", () => again.push("put") && "put", { effect: "repeatable" })]
    const { runtime } = runtimeOver(store, ["Done."], { tools, policy: { rules: [rule], ask: "pause" } })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "paused" })
    expect(again).toEqual([])
  })

  test("a `repeatable` call of an owner without a sign of life for a lease is flagged as unknown, not run again", async () => {
    const store = await unresponsive("put", { effect: "repeatable" })
    const again: string[] = []
    const tools = [tool("put", () => again.push("put") && "put", { effect: "repeatable" })]
    const { runtime } = runtimeOver(store, ["Done."], { tools })
    const seenAt = performance.now()
    expect((await runtime.resume({ runId: "r" })).error?.code).toBe("run_active")
    const clock = vi.spyOn(performance, "now").mockReturnValue(seenAt + 59_000)
    expect((await runtime.resume({ runId: "r" })).error?.code).toBe("run_active")
    clock.mockReturnValue(seenAt + 120_000)
    const result = await runtime.resume({ runId: "r" })
    clock.mockRestore()
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(again).toEqual([])
  })

  test("recovery flags a `repeatable` call of an unresponsive owner as unknown and does not run it", async () => {
    const store = await unresponsive("put", { effect: "repeatable" })
    const again: string[] = []
    const tools = [tool("put", () => again.push("put") && "put", { effect: "repeatable" })]
    const { runtime } = runtimeOver(store, ["Done."], { tools })
    expect(await runtime.recoverOrphanedRuns({ staleMs: 20, action: "resume" })).toHaveLength(1)
    expect(await runtime.waitFor("r")).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    expect(again).toEqual([])
  })

  test("a `once` call with an intent and no result is not run again if its owner is known to be dead", async () => {
    for (const unknownOutcome of ["tell", "pause"] as const) {
      const store = memoryStore()
      await crashed(store, "pay")
      await endByHand(store)
      const again: string[] = []
      const tools = [tool("pay", () => again.push("paid") && "paid", { unknownOutcome })]
      const result = await runtimeOver(store, ["I will check."], { tools }).runtime.resume({ runId: "r" })
      if (unknownOutcome === "tell")
        expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
      else expect(result).toMatchObject({ status: "paused", pause: { reason: "unknown_outcome" } })
      expect(again).toEqual([])
    }
  })

  test("a run with an unknown outcome pauses for a person and follows their decision", async () => {
    for (const decision of ["approve", "deny"] as const) {
      const store = memoryStore()
      await crashed(store, "pay")
      const again: string[] = []
      const tools = [tool("pay", () => again.push("paid") && "paid", { unknownOutcome: "pause" })]
      const paused = await runtimeOver(store, [], { tools }).runtime.resume({ runId: "r", takeover: true })
      expect(paused).toMatchObject({
        status: "paused",
        pause: { reason: "unknown_outcome", pendingToolCall: { name: "pay", args: { n: 1 } } },
      })
      const answer = "The bank says it never arrived."
      const result = await runtimeOver(store, ["Done."], { tools }).runtime.resume({ runId: "r", decision, answer })
      expect(result).toMatchObject({
        status: "done",
        toolCalls: [{ status: decision === "approve" ? "ok" : "denied" }],
      })
      expect(again).toHaveLength(decision === "approve" ? 1 : 0)
    }
  })

  test("a run lost after its last answer ends as done without another model call", async () => {
    const store = memoryStore()
    const { runtime } = runtimeOver(store, ["The answer."])
    await runtime.run({ task: "x", runId: "whole" })
    const records = await recordsOf(runtime, "whole")
    const journal = await takeRun(store.folder(runPath({ workspaceId: "default", runId: "cut", nodeId: "main" })), {
      first: () =>
        records.slice(0, -1).map((record) => (record.type === "run-start" ? { ...record, runId: "cut" } : record)),
    })
    await journal.release()
    const second = runtimeOver(store, [])
    expect(await second.runtime.resume({ runId: "cut", takeover: true })).toMatchObject({
      status: "done",
      text: "The answer.",
    })
  })

  test("a lost run is found and marked, or resumed; an active one is not touched", { tags: ["ASY-06"] }, async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] })
    onTestFinished(() => void vi.useRealTimers())
    const store = memoryStore()
    await crashed(store, "pay")
    const { runtime } = runtimeOver(store, [])
    const looking = runtime.recoverOrphanedRuns({ staleMs: 3000 })
    for (let tick = 0; tick < 10; tick++) await vi.advanceTimersByTimeAsync(500)
    expect(await looking).toEqual([]) // The owner sends heartbeats: its state file is written while the tool hangs.
    await endByHand(store)
    vi.useRealTimers()
    expect(await runtime.recoverOrphanedRuns({ staleMs: 10 })).toEqual([])
  })

  test("a run without a sign of life for the requested time is taken", { tags: ["ASY-06", "FAIL-27"] }, async () => {
    for (const action of ["mark", "resume"] as const) {
      const store = memoryStore()
      await abandoned(store)
      const { runtime } = runtimeOver(store, ["Done."])
      expect(await runtime.recoverOrphanedRuns({ staleMs: 20, action })).toMatchObject([{ runId: "r", nodeId: "main" }])
      expect(await runtime.waitFor("r")).toMatchObject(
        action === "mark" ? { status: "failed", error: { code: "orphaned" } } : { status: "done", text: "Done." },
      )
      if (action === "mark")
        expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done", text: "Done." })
    }
  })
})

describe("a shard without a header", () => {
  const folderOf = (store: Store) => store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
  const dead: JsonObject = { name: "dead" }
  const alive: JsonObject = { name: "alive" }
  const here: JsonObject = { name: "here" }

  /** A take by another process, which creates the shard and stops. */
  const take = (store: Store, shard: number, owner?: JsonObject) =>
    folderOf(store).append?.open(shardName(shard), new Ownership(owner).claim)

  /** A runtime on a host that can detect dead processes. */
  function hostOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}): Runtime {
    const model = scriptedModel(steps)
    return assembleRuntime(
      { model, store, owner: here, ...config },
      { store: memoryStore, backend: native, isDead: ({ name }) => name === "dead", again: createRuntime },
    )
  }

  const asks = {
    tools: [tool("pay", () => "paid")],
    hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const },
  }
  const approve = { runId: "r", decision: "approve" } as const

  async function paused(store: Store): Promise<void> {
    await hostOver(store, [call("pay")], asks).run({ task: "x", runId: "r" })
  }

  test("a headerless shard of a dead process over a paused run: the next decision applies immediately", async () => {
    const store = memoryStore()
    await paused(store)
    await take(store, 1, dead)
    expect(await hostOver(store, ["Done."], asks).resume(approve)).toMatchObject({ status: "done", text: "Done." })
  })

  test("a headerless shard of a living process over a paused run: run_active until a takeover is requested", async () => {
    const store = memoryStore()
    await paused(store)
    await take(store, 1, alive)
    expect((await hostOver(store, ["Done."], asks).resume(approve)).error?.code).toBe("run_active")
    expect((await hostOver(store, ["Done."], asks).resume(approve)).error?.code).toBe("run_active")
    const taken = hostOver(store, ["Done."], asks).resume({ ...approve, takeover: true })
    expect(await taken).toMatchObject({ status: "done", text: "Done." })
  })

  test("a headerless shard of an unnamed process over a paused run: run_active", async () => {
    const store = memoryStore()
    await paused(store)
    await take(store, 1)
    expect((await hostOver(store, ["Done."], asks).resume(approve)).error?.code).toBe("run_active")
  })

  test.each([
    ["empty", ""],
    ["cut in its first line", '{"v":2,"writer":"a'],
    ["zeros", "\0\0\0\0\n"],
  ])(
    "a headerless shard over a paused run, unreadable after a power loss (%s): the next decision applies immediately",
    async (_, text) => {
      const store = memoryStore()
      await paused(store)
      await folderOf(store).append?.open(shardName(1), new TextEncoder().encode(text))
      expect(await hostOver(store, ["Done."], asks).resume(approve)).toMatchObject({ status: "done", text: "Done." })
    },
  )

  test("an unreadable headerless shard on a shared store proves nothing", async () => {
    const store = memoryStore()
    await paused(store)
    await folderOf(store).create(shardName(1), new Uint8Array())
    const shared: Store = {
      ...store,
      folder(path) {
        const { append: _, ...folder } = store.folder(path)
        return folder
      },
    }
    expect((await hostOver(shared, ["Done."], asks).resume(approve)).error?.code).toBe("run_active")
  })

  test("a headerless shard of a dead process over a run with a dead owner: a repeatable call is repeated", async () => {
    const store = memoryStore()
    await crashed(store, "put", { effect: "repeatable" }, { owner: dead })
    await take(store, 1, dead)
    const again = hostOver(store, ["Done."], { tools: [tool("put", () => "put", { effect: "repeatable" })] })
    expect(await again.resume({ runId: "r" })).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
  })

  test.each([
    ["a dead process", dead],
    ["an unreadable owner", null],
  ])(
    "a headerless shard of %s over a run whose owner may be alive: taken, and a repeatable call is flagged",
    async (_, owner) => {
      const store = memoryStore()
      await crashed(store, "put", { effect: "repeatable" }, { owner: alive })
      if (owner) await take(store, 1, owner)
      else await folderOf(store).append?.open(shardName(1), new Uint8Array())
      const again = hostOver(store, ["Done."], { tools: [tool("put", () => "put", { effect: "repeatable" })] })
      expect(await again.resume({ runId: "r" })).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
    },
  )

  test("a headerless shard over a run with one flush hides none of its records", async () => {
    const store = memoryStore()
    await abandoned(store)
    await take(store, 1, alive)
    const { runtime } = runtimeOver(store, ["Done."])
    expect((await runtime.status("r")).status).toBe("running")
    expect(await runtime.runs()).toMatchObject([{ runId: "r", status: "running" }])
    expect(await runtime.resume({ runId: "r", takeover: true })).toMatchObject({ status: "done" })
  })

  test("a headerless shard of a dead process without a run: the id is free immediately", async () => {
    const store = memoryStore()
    await take(store, 0, dead)
    expect(await hostOver(store, ["Done."]).run({ task: "x", runId: "r" })).toMatchObject({ status: "done" })
    expect(await hostOver(store, []).status("r")).toMatchObject({ status: "done" })
  })

  test("a headerless shard of a living process without a run: the id is free after a lease without a sign of life", async () => {
    const store = memoryStore()
    await take(store, 0, alive)
    const runtime = hostOver(store, ["Done."])
    expect((await runtime.run({ task: "x", runId: "r" })).error?.code).toBe("run_active")
    const later = performance.now() + 61_000
    const clock = vi.spyOn(performance, "now").mockReturnValue(later)
    const result = await runtime.run({ task: "x", runId: "r" })
    clock.mockRestore()
    expect(result).toMatchObject({ status: "done" })
    expect(await runtime.status("r")).toMatchObject({ status: "done" })
  })

  test.each(["mark", "resume"] as const)(
    "a headerless shard of a dead process over a paused run: recovery (%s) keeps it paused and readable",
    async (action) => {
      const store = memoryStore()
      await paused(store)
      const before = await recordsOf(hostOver(store, []), "r")
      await take(store, 1, dead)
      const runtime = hostOver(store, ["Done."], asks)
      expect(await recordsOf(runtime, "r")).toEqual(before)
      expect(await runtime.recoverOrphanedRuns({ action })).toEqual([])
      const after = await recordsOf(runtime, "r")
      expect(after.slice(0, before.length)).toEqual(before)
      expect(after.slice(before.length)).toMatchObject([{ type: "warning", code: "takeover_abandoned" }])
      expect(await runtime.status("r")).toMatchObject({ status: "paused" })
      expect(await runtime.resume(approve)).toMatchObject({ status: "done" })
    },
  )

  test("a headerless shard of this process after a failed header write: the run continues here once there is space", async () => {
    const store = memoryStore()
    await paused(store)
    let isFull = true
    const filling: Store = {
      ...store,
      folder(path) {
        const folder = store.folder(path)
        const append = folder.append as NonNullable<typeof folder.append>
        const open: typeof append.open = async (name, first) => {
          const file = await append.open(name, first)
          if (!isFull) return file
          return file && { ...file, write: () => Promise.reject(new LonghaulError("storage", "There is no room.")) }
        }
        return { ...folder, append: { ...append, open } }
      },
    }
    const runtime = hostOver(filling, ["Done."], asks)
    expect((await runtime.resume(approve)).error?.code).toBe("storage")
    isFull = false
    expect(await runtime.resume(approve)).toMatchObject({ status: "done", text: "Done." })
  })
})

test("a run that could not be written continues in the same process once there is space", async () => {
  const store = memoryStore()
  let isFull = false
  const full = () => {
    if (isFull) throw new LonghaulError("storage", "There is no room.")
  }
  const filling: Store = {
    ...store,
    folder(path) {
      const folder = store.folder(path)
      const append = folder.append as NonNullable<typeof folder.append>
      return {
        ...folder,
        append: {
          ...append,
          async open(name, first) {
            full()
            const file = await append.open(name, first)
            const write = async (bytes: Uint8Array) => {
              full()
              await file?.write(bytes)
            }
            return file && { ...file, write }
          },
        },
      }
    },
  }
  const fills = tool("fill", () => {
    isFull = true
    return "full"
  })
  const { runtime } = runtimeOver(filling, [call("fill"), "Done.", "Done."], { tools: [fills] })
  const failed = await runtime.run({ task: "x", runId: "r" })
  expect(failed).toMatchObject({ status: "failed", error: { code: "storage", retryable: true } })
  isFull = false
  expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
})

test("a runtime with recover resumes lost runs when it is created", async () => {
  const store = memoryStore()
  await abandoned(store)
  const { runtime } = runtimeOver(store, ["Done."], { owner: { pid: 1 }, recover: "resume" })
  const closed = runtime.close()
  await closed
  expect((await runtime.status("r")).status).toBe("running") // The runtime was closed before a lease had passed, so the run is unchanged.
})

/** A run whose owner released it without recording an end. */
async function endByHand(store: Store): Promise<void> {
  const folder = store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
  const failure = { code: "storage", message: "The disk was full.", retryable: true } as const
  const journal = await takeRun(folder, { first: () => [{ type: "run-end", status: "failed", error: failure }] })
  await journal.release()
}

/** A run that was started and shows no further sign of life. */
async function abandoned(store: Store): Promise<void> {
  const { runtime } = runtimeOver(store, ["x"])
  await runtime.run({ task: "x", runId: "other" })
  const [start] = await recordsOf(runtime, "other")
  await runtime.remove("other")
  const folder = store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
  const journal = await takeRun(folder, { first: () => [{ ...(start as RunRecord), runId: "r" } as RunRecord] })
  await journal.release()
}

/** The journal of a run whose process stopped in the middle of a call and shows no further sign of life. */
async function unresponsive(name: string, more: object): Promise<Store> {
  const [live, store] = [memoryStore(), memoryStore()]
  await crashed(live, name, more)
  const records = await recordsOf(runtimeOver(live, []).runtime, "r")
  const folder = store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
  const journal = await takeRun(folder, { first: () => records })
  await journal.release()
  return store
}

describe("background runs", () => {
  test("a background run starts immediately, reports its status, and can be awaited from anywhere", {
    tags: ["ASY-01", "ASY-02", "ASY-03"],
  }, async () => {
    const store = memoryStore()
    const gate = deferred<string>()
    const { runtime } = runtimeOver(store, [() => gate.promise])
    const started = await runtime.start({ task: "x", runId: "r" })
    expect(started).toEqual({ runId: "r", nodeId: "main", status: "running" })
    const elsewhere = runtimeOver(store, []).runtime
    expect(await elsewhere.status("r")).toMatchObject({ status: "running", turns: 0 })
    expect(await elsewhere.waitFor("r", { timeoutMs: 20, pollIntervalMs: 5 })).toMatchObject({ status: "running" })
    gate.resolve("Done.")
    expect(await elsewhere.waitFor("r", { pollIntervalMs: 5 })).toMatchObject({ status: "done", text: "Done." })
    expect(await runtime.waitFor("r")).toMatchObject({ status: "done" })
    expect(await elsewhere.waitFor("nobody")).toMatchObject({ status: "not_found", error: { code: "not_found" } })
  })

  test("a background run that cannot start reports the reason", { tags: ["ASY-01"] }, async () => {
    const { runtime } = runtimeOver(memoryStore(), ["Done."])
    await runtime.run({ task: "x", runId: "r" })
    expect(await runtime.start({ task: "x", runId: "r" })).toMatchObject({
      status: "failed",
      error: { code: "run_active" },
    })
  })

  test("a paused run is resumed in the background", { tags: ["PAU-07"] }, async () => {
    const store = memoryStore()
    const tools = [tool("pay", () => "paid")]
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
    await runtimeOver(store, [call("pay")], { tools, hooks }).runtime.run({ task: "x", runId: "r" })
    const { runtime } = runtimeOver(store, ["Done."], { tools, hooks })
    expect(await runtime.resumeAsync({ runId: "r", decision: "approve" })).toEqual({
      runId: "r",
      nodeId: "main",
      status: "running",
    })
    expect(await runtime.waitFor("r")).toMatchObject({ status: "done" })
  })

  test("every status of a run is reported in the same shape", { tags: ["RES-05"] }, async () => {
    const store = memoryStore()
    const gate = deferred<string>()
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
    const config = { concurrency: 1, tools: [tool("pay", () => "paid")], hooks }
    const { runtime } = runtimeOver(store, [() => gate.promise, call("pay"), { fail: noAccount }], config)
    const first = runtime.run({ task: "x", runId: "done" })
    const second = runtime.run({ task: "x", runId: "paused" })
    const third = runtime.run({ task: "x", runId: "failed" })
    const cancelled = runtime.stream({ task: "x", runId: "cancelled" })
    await until(async () => (await runtime.status("done")).status === "running")
    expect((await runtime.status("paused")).status).toBe("queued")
    cancelled.interrupt()
    gate.resolve("Done.")
    await Promise.all([first, second, third, cancelled.result])
    const keys = Object.keys(await runtime.status("nobody")).filter((key) => key !== "error")
    for (const runId of ["done", "paused", "failed", "cancelled", "nobody"]) {
      const state = await runtime.status(runId)
      expect(state.status).toBe(runId === "nobody" ? "not_found" : runId)
      expect(Object.keys(state)).toEqual(expect.arrayContaining(keys))
    }
  })

  test("a start with a free concurrency slot reports a taken id; without one it is queued", async () => {
    const gate = deferred<string>()
    const { runtime } = runtimeOver(memoryStore(), ["Done.", () => gate.promise, "Done."], { concurrency: 1 })
    await runtime.run({ task: "x", runId: "taken" })
    expect(await runtime.start({ task: "x", runId: "taken" })).toMatchObject({ error: { code: "run_active" } })
    expect(await runtime.start({ task: "x", runId: "first" })).toMatchObject({ status: "running" })
    expect(await runtime.start({ task: "x", runId: "second" })).toMatchObject({ status: "queued" })
    gate.resolve("Done.")
    expect(await runtime.waitFor("second")).toMatchObject({ status: "done" })
  })

  test("a concurrency slot is released after a run that failed, could not start, or threw", async () => {
    const store = memoryStore()
    let breaks = false
    const breaking: Store = {
      ...store,
      folder(path) {
        if (breaks) throw new TypeError("broken store")
        return store.folder(path)
      },
    }
    const { runtime } = runtimeOver(breaking, [{ fail: noAccount }, "Done."], { concurrency: 1 })
    expect((await runtime.run({ task: "x", runId: "r" })).error?.code).toBe("auth")
    expect((await runtime.run({ task: "x", runId: "r" })).error?.code).toBe("run_active")
    breaks = true
    await expect(runtime.run({ task: "x" })).rejects.toThrow("broken store")
    breaks = false
    expect(await runtime.start({ task: "x", runId: "last" })).toMatchObject({ status: "running" })
    expect(await runtime.waitFor("last")).toMatchObject({ status: "done" })
  })

  test("a run cancelled while queued leaves the queue and takes no slot", async () => {
    const gates = [deferred<string>(), deferred<string>()]
    const steps = gates.map((gate) => () => gate.promise)
    const { runtime, model } = runtimeOver(memoryStore(), [...steps, "Done."], { concurrency: 1 })
    const first = runtime.stream({ task: "x", runId: "first" })
    const cancelled = runtime.stream({ task: "x", runId: "cancelled" })
    const [third, fourth] = ["third", "fourth"].map((runId) => runtime.run({ task: "x", runId }))
    expect(cancelled.interrupt()).toBe(true)
    expect(await cancelled.result).toMatchObject({ status: "cancelled" })
    await until(() => model.calls.length > 0)
    gates[0]?.resolve("Done.")
    expect(await first.result).toMatchObject({ status: "done" })
    await until(() => model.calls.length > 1)
    expect(await runtime.status("fourth")).toMatchObject({ status: "queued" })
    gates[1]?.resolve("Done.")
    expect(await Promise.all([third, fourth])).toMatchObject([{ status: "done" }, { status: "done" }])
  })

  test("the executor receives the work", { tags: ["ASY-10"] }, async () => {
    const handed: Promise<unknown>[] = []
    const executor = { run: (work: Promise<unknown>) => void handed.push(work) }
    const { runtime } = runtimeOver(memoryStore(), ["Done."], { executor })
    await runtime.start({ task: "x", runId: "r" })
    expect(handed).toHaveLength(1)
    await handed[0]
    expect((await runtime.status("r")).status).toBe("done")
  })
})

describe("from another process", () => {
  async function liveRun(store: Store, steps: readonly ScriptedStep[] = [call("slow")]) {
    const started = deferred<void>()
    const slow = tool("slow", (_, { signal }: { signal: AbortSignal }) => {
      started.resolve()
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped")))
    })
    const { runtime, model } = runtimeOver(store, steps, { tools: [slow] })
    const result = runtime.run({ task: "x", runId: "r" })
    await started.promise
    return { result, model }
  }

  test("cancel reaches an active run through its inbox and stops it", { tags: ["ASY-04"] }, async () => {
    const store = memoryStore()
    const { result } = await liveRun(store)
    const elsewhere = runtimeOver(store, []).runtime
    expect(await elsewhere.cancel("r")).toBe(true)
    expect(await result).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
    const records = await recordsOf(elsewhere, "r")
    expect(records).toContainEqual(expect.objectContaining({ type: "cancel", inbox: 0 }))
    expect(await elsewhere.cancel("r")).toBe(false)
    expect(await elsewhere.cancel("nobody")).toBe(false)
  })

  test("cancelling a paused run ends it immediately", async () => {
    const store = memoryStore()
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
    const { runtime } = runtimeOver(store, [call("pay")], { tools: [tool("pay", () => "paid")], hooks })
    await runtime.run({ task: "x", runId: "r" })
    const elsewhere = runtimeOver(store, []).runtime
    expect(await elsewhere.cancel("r")).toBe(true)
    expect(await elsewhere.status("r")).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
  })

  test("a steering message to an active run reaches the model once and is recorded with its slot", async () => {
    const { store, taken } = watchedInbox(memoryStore(), { workspaceId: "default", runId: "r", nodeId: "main" })
    const release = deferred<string>()
    const started = deferred<void>()
    const slow = tool("slow", () => {
      started.resolve()
      return release.promise
    })
    const { runtime, model } = runtimeOver(store, [call("slow"), "Done."], { tools: [slow] })
    const result = runtime.run({ task: "x", runId: "r" })
    await started.promise
    expect(await runtimeOver(store, []).runtime.steer("r", "Hurry up.")).toBe(true)
    await taken(0)
    release.resolve("ready")
    expect(await result).toMatchObject({ status: "done" })
    expect(model.calls[1]?.at(-1)).toMatchObject({ role: "user", content: [{ text: "Hurry up." }] })
    const records = await recordsOf(runtime, "r")
    expect(records.filter(({ type }) => type === "steer")).toMatchObject([{ text: "Hurry up.", inbox: 0 }])
  })

  test("a steering message to a paused run reaches the model after the resume", async () => {
    const store = memoryStore()
    const tools = [tool("pay", () => "paid")]
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
    await runtimeOver(store, [call("pay")], { tools, hooks }).runtime.run({ task: "x", runId: "r" })
    await runtimeOver(store, []).runtime.steer("r", "Use the other account.")
    const second = runtimeOver(store, ["Done."], { tools, hooks })
    await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(second.model.calls[0]?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"])
    expect(JSON.stringify(second.model.calls[0]?.at(-1))).toContain("other account")
    const records = await recordsOf(second.runtime, "r")
    expect(project(records).messages.slice(0, -1)).toEqual(second.model.calls[0])
  })

  test("a steering message in the turn in which a run failed is recorded, and delivered once after the resume", async () => {
    const store = memoryStore()
    const steps = [async () => ((await runtime.steer("r", "Use the other account.")) ? { fail: noAccount } : "lost")]
    const { runtime } = runtimeOver(store, steps)
    expect((await runtime.run({ task: "x", runId: "r" })).error?.code).toBe("auth")
    const second = runtimeOver(store, ["Done."])
    expect(await second.runtime.resume({ runId: "r" })).toMatchObject({ status: "done" })
    expect(JSON.stringify(second.model.calls[0]).split("Use the other account.")).toHaveLength(2)
    const records = await recordsOf(second.runtime, "r")
    expect(records.filter(({ type }) => type === "steer")).toMatchObject([{ text: "Use the other account." }])
  })

  test("a steering message in the turn in which a run paused is delivered after the resume", async () => {
    const store = memoryStore()
    const tools = [tool("pay", () => "paid")]
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
    const steps = [async () => ((await runtime.steer("r", "Use the other account.")) ? call("pay") : "lost")]
    const { runtime } = runtimeOver(store, steps, { tools, hooks })
    expect(await runtime.run({ task: "x", runId: "r" })).toMatchObject({ status: "paused" })
    const second = runtimeOver(store, ["Done."], { tools, hooks })
    await second.runtime.resume({ runId: "r", decision: "approve" })
    expect(JSON.stringify(second.model.calls[0]?.at(-1))).toContain("other account")
  })

  const post = (store: Store, slot: number, text: string) =>
    store
      .folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
      .create(inboxName(slot), new TextEncoder().encode(text))
  const skipped = {
    type: "warning",
    code: "inbox_unreadable",
    message: expect.stringContaining("inbox/000000.json"),
    inbox: 0,
  }

  test.each([
    ["no JSON", "{"],
    ["no object", "[1]"],
    ["null", "null"],
    ["of an unknown type", '{"type":"dance"}'],
    ["empty", ""],
  ])(
    "a message that is %s does not block a paused run: it is skipped with a warning, and the next one is delivered",
    async (_, text) => {
      const store = memoryStore()
      const tools = [tool("pay", () => "paid")]
      const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
      await runtimeOver(store, [call("pay")], { tools, hooks }).runtime.run({ task: "x", runId: "r" })
      await post(store, 0, text)
      await runtimeOver(store, []).runtime.steer("r", "Use the other account.")
      const second = runtimeOver(store, ["Done."], { tools, hooks })
      expect(await second.runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({ status: "done" })
      expect(JSON.stringify(second.model.calls[0]?.at(-1))).toContain("other account")
      const records = await recordsOf(second.runtime, "r")
      expect(records.filter((record) => "inbox" in record)).toMatchObject([skipped, { inbox: 1 }])
      expect(project(records).nextInbox).toBe(2)
    },
  )

  test.each(['{"type":"cancel"}', '{"type":"interrupt","mode":"graceful"}'])(
    "%s left for a dead owner is consumed by the first resume only",
    async (text) => {
      const store = await unresponsive("pay", {})
      await post(store, 0, text)
      const tools = [tool("pay", () => "paid")]
      const { runtime } = runtimeOver(store, [{ fail: noAccount }, "Done."], { tools })
      expect((await runtime.resume({ runId: "r", takeover: true })).error?.code).toBe("auth")
      const consumed = await recordsOf(runtime, "r")
      expect(consumed.filter((record) => "inbox" in record)).toMatchObject([{ type: "cancel", inbox: 0 }])
      expect(project(consumed).nextInbox).toBe(1)
      expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done" })
      expect((await recordsOf(runtime, "r")).filter(({ type }) => type === "cancel")).toHaveLength(1)
    },
  )

  test("an unreadable message does not block an active run: a later cancellation is received", async () => {
    const store = memoryStore()
    const { result } = await liveRun(store)
    await post(store, 0, "{")
    await runtimeOver(store, []).runtime.cancel("r")
    expect(await result).toMatchObject({ status: "cancelled" })
    const records = await recordsOf(runtimeOver(store, []).runtime, "r")
    expect(records.filter((record) => "inbox" in record)).toMatchObject([skipped, { inbox: 1 }])
  })

  test("the state file shows the activity of an active run and finally its outcome", {
    tags: ["ASY-07", "ASY-08"],
  }, async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    onTestFinished(() => void vi.useRealTimers())
    const store = memoryStore()
    const { result } = await liveRun(store)
    // The monitor writes the state file in its fourth tick at the earliest.
    await vi.advanceTimersByTimeAsync(2000)
    const folder = store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
    const state = async () =>
      JSON.parse(new TextDecoder().decode((await folder.read("state.json")) ?? undefined)) as Json
    expect(await state()).toMatchObject({
      version: 1,
      runId: "r",
      nodeId: "main",
      status: "running",
      startedAt: expect.any(Number),
      lastHeartbeat: expect.any(Number),
      progress: { turns: 1, tokensUsed: expect.any(Number), currentActivity: "tool_dispatch", lastTool: "slow" },
      beat: 1,
    })
    await runtimeOver(store, []).runtime.cancel("r")
    await vi.advanceTimersByTimeAsync(500)
    await result
    expect(await state()).toMatchObject({ status: "cancelled" })
  })

  test("events of a run are followed until it ends", async () => {
    const store = memoryStore()
    const { result } = await liveRun(store)
    const elsewhere = runtimeOver(store, []).runtime
    const types: string[] = []
    const following = (async () => {
      for await (const { type } of elsewhere.events("r", { follow: true })) types.push(type)
    })()
    await until(() => types.includes("tool-intent"))
    await elsewhere.cancel("r")
    await result
    await following
    expect(types.at(-1)).toBe("run-end")
  })
})

describe("forks, replays and removals", () => {
  async function finished(store: Store) {
    const ledger: Json[] = []
    const tools = [tool("pay", (args) => ledger.push(args) && "paid")]
    const { runtime } = runtimeOver(store, [call("pay", { n: 1 }), call("pay", { n: 2 }), "Done."], { tools })
    await runtime.run({ task: "x", runId: "r" })
    return { ledger, tools, runtime, records: await recordsOf(runtime, "r") }
  }

  test("a fork at any record folds to the run's state there, and calls nothing", async () => {
    const store = memoryStore()
    const { runtime, records, ledger } = await finished(store)
    for (const { seq } of records) {
      const fork = await runtime.fork("r", { at: seq })
      const copy = await recordsOf(runtime, fork.runId)
      const [before, after] = [project(records.slice(0, seq + 1)), project(copy.slice(0, -1))]
      const own = { usage: null, spent: null, activeMs: null, runId: "", forkOf: null }
      expect({ ...after, ...own }).toEqual({ ...before, ...own })
      expect(copy[0]).toMatchObject({ forkOf: { runId: "r", nodeId: "main", at: seq } })
      expect(copy.at(-1)).toMatchObject({ type: "run-pause", reason: "fork" })
    }
    expect(ledger).toHaveLength(2)
    await expect(runtime.fork("r", { at: 999 })).rejects.toMatchObject({ code: "config_invalid" })
    await expect(runtime.fork("nobody")).rejects.toMatchObject({ code: "not_found" })
  })

  test("a fork continues from its record, with its own effects", async () => {
    const store = memoryStore()
    const { records, tools, ledger, runtime } = await finished(store)
    const at = records.findIndex((record) => record.type === "turn-end" && record.turn === 1)
    const fork = await runtime.fork("r", { at, newRunId: "fork" })
    const other = runtimeOver(store, [call("pay", { n: 3 }), "Otherwise."], { tools })
    const result = await other.runtime.resume({ ...fork, answer: "Pay the other one." })
    expect(result).toMatchObject({ runId: "fork", status: "done", text: "Otherwise.", turns: 3 })
    expect(ledger).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect((await runtime.status("r")).text).toBe("Done.")
  })

  test("a replay publishes all records again and calls nothing", async () => {
    const store = memoryStore()
    const { records, ledger, runtime } = await finished(store)
    const told: unknown[] = []
    const state = await runtimeOver(store, []).runtime.replay("r", { onEvent: (event) => told.push(event) })
    expect(told).toEqual(records)
    expect(state).toEqual(await runtime.status("r"))
    expect(ledger).toHaveLength(2)
  })

  test("a removed run leaves nothing but its reserved id", async () => {
    const store = memoryStore()
    const { runtime } = await finished(store)
    await runtime.steer("r", "x")
    expect(await runtime.remove("r")).toBe(true)
    expect(await runtime.status("r")).toMatchObject({ status: "not_found" })
    expect(await runtime.runs()).toEqual([])
    expect(await runtime.remove("r")).toBe(false)
    expect(await runtime.run({ task: "again", runId: "r" })).toMatchObject({ error: { code: "run_active" } })
    const path = runPath({ workspaceId: "default", runId: "r", nodeId: "main" })
    expect(await store.list(path)).toEqual(["000001.jsonl"])
    const tombstone = new TextDecoder().decode((await store.folder(path).read("000001.jsonl")) ?? undefined)
    expect(tombstone).not.toContain("pay")
  })

  test("an active run is not removed", async () => {
    const store = memoryStore()
    await crashed(store, "pay")
    await expect(runtimeOver(store, []).runtime.remove("r")).rejects.toMatchObject({ code: "run_active" })
  })

  test("runs are listed by status and by page", async () => {
    const store = memoryStore()
    const { runtime } = runtimeOver(store, ["a", "b", "c"])
    for (const runId of ["one", "two", "three"]) {
      await runtime.run({ task: "x", runId })
      await laterMillisecond()
    }
    const ids = async (filter: object) => (await runtime.runs(filter)).map(({ runId }) => runId)
    expect(await ids({ limit: 2 })).toEqual(["three", "two"])
    expect(await ids({ limit: 2, before: "two" })).toEqual(["one"])
    expect(await ids({ status: "failed" })).toEqual([])
  })
})
