import type { RunHandle, RunInput, Runtime, RuntimeConfig } from "../contract/run.ts"
import { type Defaults, resolveConfig } from "./config.ts"
import { startRun } from "./handle.ts"
import { listRuns, readEvents, readRun } from "./read-runs.ts"

/** A runtime over one configuration. Throws `config_invalid` at once for what cannot work. */
export function assembleRuntime(given: RuntimeConfig, defaults: Defaults): Runtime {
  const config = resolveConfig(given, defaults)
  const live = new Set<RunHandle>()

  function start(input: RunInput, streamed: boolean): RunHandle {
    const handle = startRun(config, input, streamed)
    live.add(handle)
    const forget = () => live.delete(handle)
    handle.result.then(forget, forget)
    return handle
  }

  const key = (runId: string, nodeId = "main") => ({ workspaceId: config.workspaceId, runId, nodeId })

  async function close(): Promise<void> {
    await Promise.all(Array.from(live, (handle) => handle[Symbol.asyncDispose]()))
  }

  return {
    run: (input) => start(input, false).result,
    stream: (input) => start(input, true),
    status: async (runId, nodeId) => readRun(config, key(runId, nodeId)),
    runs: () => listRuns(config),
    events: (runId, options) => readEvents(config, key(runId, options?.nodeId), options?.after),
    close,
    [Symbol.asyncDispose]: close,
  }
}
