import type { Backend, OpenRequest, Stop, TurnHost, TurnInput } from "../contract/backend.ts"
import { LonghaulError } from "../contract/error.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"
import { createSettler } from "./settle-call.ts"

/** Runs a backend's session to its stop: number, append, publish each event; keep the clock; carry the brakes. */
export async function drive(
  config: ResolvedConfig,
  run: OpenRun,
  backend: Backend,
  { request, turn }: { request: OpenRequest; turn: TurnInput },
): Promise<Stop> {
  const { controls, journal } = run
  const stopClock = startClock(run)
  try {
    const session = await backend.open(request, { transport: config.transport })
    try {
      journal.append({ type: "session", ref: session.ref })
      controls.onStop((mode) => {
        if (controls.cause?.kind === "cancel") journal.append({ type: "interrupt", mode })
        session.interrupt(mode)
      })
      return await session.run(turn, createHost(config, run))
    } finally {
      await session.close()
    }
  } catch (error) {
    // A backend must not throw; one that does has crashed, unless it told us what is wrong.
    return { reason: "failed", failure: asError(backend, error).toJSON() }
  } finally {
    stopClock()
  }
}

function createHost(config: ResolvedConfig, run: OpenRun): TurnHost {
  const { journal, publisher } = run
  const settler = createSettler(config, run)
  let called = false
  return {
    deltas: publisher.listening,
    callTool: settler.call,
    startsEarly: settler.startsEarly,
    show: run.show,
    emit(event) {
      journal.append(event)
      if (event.type === "tool-call") {
        called = true
        settler.announce(event.callId)
      } else if (event.type === "retry") {
        settler.dropEarly()
      } else if (event.type === "turn-end" && called) {
        // A turn that called nothing is the last one: its end goes with the end of the run, which follows at once.
        called = false
        run.flushSoon()
      }
    },
  }
}

function startClock({ input, controls }: OpenRun): () => void {
  const { timeMs } = input.limits
  if (timeMs === undefined) return () => {}
  const timer = setTimeout(() => controls.stop({ kind: "timeout", timeMs }, "immediate"), timeMs)
  return () => clearTimeout(timer)
}

function asError(backend: Backend, error: unknown): LonghaulError {
  if (LonghaulError.is(error)) return error
  return new LonghaulError("backend_crashed", `The ${backend.name} backend failed unexpectedly.`, { cause: error })
}
