import type { RunHandle, RunInput, Runtime, RuntimeConfig } from "../contract/run.ts"
import { resultWithout } from "../journal/result.ts"
import { Permits } from "../lib/permits.ts"
import { type Defaults, resolveConfig, wholeNumber } from "./config.ts"
import type { RunControls } from "./controls.ts"
import { startRun } from "./handle.ts"
import { listRuns, readEvents, readRun } from "./read-runs.ts"

/** A runtime over one configuration. Throws `config_invalid` at once for what cannot work. */
export function assembleRuntime(given: RuntimeConfig, defaults: Defaults): Runtime {
  const config = resolveConfig(given, defaults)
  const permits = given.concurrency && new Permits(wholeNumber("concurrency", given.concurrency))
  const live = new Map<RunHandle, { queued: boolean }>()

  function start(input: RunInput, streamed: boolean): RunHandle {
    const place = { queued: permits !== undefined }
    const turn = async (controls: RunControls) => {
      const leave = await (permits as Permits).take(controls.halting)
      place.queued = false
      return leave
    }
    const handle = startRun(config, input, { streamed, ...(permits && { turn }) })
    live.set(handle, place)
    const forget = () => live.delete(handle)
    handle.result.then(forget, forget)
    return handle
  }

  const key = (runId: string, nodeId = "main") => ({ workspaceId: config.workspaceId, runId, nodeId })
  const running = (id: string) => Array.from(live.keys()).filter(({ runId }) => runId === id)

  async function status(runId: string, nodeId?: string) {
    const asked = key(runId, nodeId)
    for (const [handle, { queued }] of live) {
      if (queued && handle.runId === runId && handle.nodeId === asked.nodeId)
        return resultWithout("queued", asked, undefined, config.store.location)
    }
    return readRun(config, asked)
  }

  async function close(): Promise<void> {
    await Promise.all(Array.from(live.keys(), (handle) => handle[Symbol.asyncDispose]()))
    await Promise.all(config.observers.map(flushed))
  }

  return {
    run: (input) => start(input, false).result,
    stream: (input) => start(input, true),
    status,
    runs: () => listRuns(config),
    events: (runId, options) => readEvents(config, key(runId, options?.nodeId), options?.after),
    interrupt: (runId, mode) => running(runId).filter((handle) => handle.interrupt(mode)).length > 0,
    steer: (runId, text) => running(runId).filter((handle) => handle.steer(text)).length > 0,
    with: (overrides) => defaults.again({ ...given, store: config.store, ...overrides }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** An observer's trouble is its own. */
async function flushed(observer: NonNullable<RuntimeConfig["observers"]>[number]): Promise<void> {
  try {
    await observer.flush?.()
  } catch {
    // Nobody is left to tell.
  }
}
