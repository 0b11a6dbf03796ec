import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { LONG_LIMIT_MS, withTimeLimit } from "../../test/support/time-limit.ts"
import { until } from "../../test/support/watchdog.ts"
import type { Hooks, Logger, RunEvent, RuntimeConfig } from "../index.ts"
import { createRuntime, defineTool } from "../index.ts"
import { type ScriptedStep, scriptedModel } from "../testing/index.ts"

const rejections: unknown[] = []
const keep = (reason: unknown) => void rejections.push(reason)
process.on("unhandledRejection", keep)
afterEach(async () => {
  // Node reports an unhandled rejection after the microtasks of its tick.
  await new Promise((resolve) => setImmediate(resolve))
  expect(rejections.splice(0)).toEqual([])
})

const pay = defineTool({ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" })
const paying: ScriptedStep[] = [{ parts: [{ toolCall: { name: "pay", args: {} } }] }, "Paid."]
const runtimeWith = (config: RuntimeConfig, steps = paying) =>
  createRuntime({ model: scriptedModel(steps), tools: [pay], ...config })

function throws(): never {
  throw new Error("broken")
}
async function rejects(): Promise<never> {
  throw new Error("broken")
}
const never = () => new Promise<never>(() => {})
const logger = (broken: () => never): Logger => ({ debug: broken, info: broken, warn: broken, error: broken })
const asyncLogger = logger(rejects as unknown as () => never)

describe("exceptions and rejections of host code do not cost a run its result", () => {
  const configs: readonly [string, RuntimeConfig][] = [
    ["a logger that throws", { logger: logger(throws) }],
    ["an async logger that rejects", { logger: asyncLogger }],
    ["an observer that throws", { observers: [{ recordEvent: throws, recordMetric: throws }] }],
    ["an async observer that rejects", { observers: [{ recordEvent: rejects, recordMetric: rejects }] }],
    ["an observer whose flush throws", { observers: [{ recordEvent() {}, flush: throws }] }],
    ["a hook that rejects", { hooks: { preRun: rejects, postRun: rejects, postTurn: rejects } }],
    ["an executor that throws", { executor: { run: throws } }],
  ]
  test.each(configs)("a run keeps its result if host code fails: %s", async (_, config) => {
    const runtime = runtimeWith(config, [...paying, ...paying])
    expect(await runtime.run({ task: "Pay." })).toMatchObject({ status: "done", text: "Paid." })
    const { runId } = await runtime.start({ task: "Pay." })
    expect(await runtime.waitFor(runId)).toMatchObject({ status: "done" })
    await runtime.close()
  })

  test("throwing and rejecting listeners of one run are contained", async () => {
    const runtime = runtimeWith({}, [...paying, ...paying])
    for (const broken of [throws, rejects]) {
      const result = await runtime.run({ task: "Pay.", onEvent: broken, onProgress: broken })
      expect(result).toMatchObject({ status: "done", text: "Paid." })
      await runtime.replay(result.runId, { onEvent: broken })
    }
  })
})

describe("a hook that never returns", () => {
  const hanging: Hooks = { postRun: never }

  test("the run's time limit applies during a hanging postRun", async () => {
    const result = await withTimeLimit((pass) => {
      const hooks: Hooks = {
        postRun() {
          pass()
          return never()
        },
      }
      return runtimeWith({ hooks }).run({ task: "Pay.", limits: { timeMs: LONG_LIMIT_MS } })
    })
    expect(result).toMatchObject({ status: "done", text: "Paid." })
  })

  test("cancelling during a hanging postRun hook still returns the result, also with the caller's signal", async () => {
    const events: RunEvent["type"][] = []
    const abort = new AbortController()
    const runtime = runtimeWith({ hooks: hanging }, [...paying, ...paying])
    const onEvent = ({ type }: RunEvent) => void events.push(type)
    const running = runtime.run({ task: "Pay.", onEvent, signal: abort.signal })
    const ended = (times: number) => () => events.filter((type) => type === "run-end").length === times
    await until(ended(1))
    abort.abort()
    expect(await running).toMatchObject({ status: "done", text: "Paid." })
    const other = runtime.run({ task: "Pay.", onEvent })
    await until(ended(2))
    await runtime.close()
    expect(await other).toMatchObject({ status: "done" })
  })
})

test("a flush that never returns does not keep a runtime from closing", async () => {
  const warnings: string[] = []
  const runtime = runtimeWith({
    observers: [{ recordEvent() {}, flush: never }],
    logger: { warn: (message) => void warnings.push(message) },
  })
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => void vi.useRealTimers())
  const closing = runtime.close()
  await vi.advanceTimersByTimeAsync(4_999)
  expect(warnings).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  await closing
  expect(warnings).toEqual(["An observer's flush did not return in time."])
})

test("a closed runtime starts nothing: run, stream, start and resume end with invalid_state", async () => {
  const runtime = runtimeWith({})
  await runtime.close()
  const closed = { status: "failed", error: { code: "invalid_state", fix: "Create another runtime." } }
  expect(await runtime.run({ task: "Pay." })).toMatchObject(closed)
  expect(await runtime.stream({ task: "Pay." }).result).toMatchObject(closed)
  expect(await runtime.start({ task: "Pay." })).toMatchObject(closed)
  expect(await runtime.resume({ runId: "r" })).toMatchObject(closed)
})
