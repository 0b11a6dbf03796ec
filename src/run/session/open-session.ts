import type { BackendSession, OpenRequest } from "../../contract/backend.ts"
import type { BackendEnv, LineChannel } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { orAborted, withTimeout } from "../../lib/abort.ts"
import type { OpenRun } from "../state/open-run.ts"

/**
 * Opens a session of the run's backend. Rejects with `cancelled` if the run is stopped at once: the programs that the backend has
 * started end then, whatever it waits for, and a session that opens too late is closed.
 */
export async function openSession(
  { config: { backendEnv: env }, target: { backend }, controls: { signal } }: OpenRun,
  request: OpenRequest,
): Promise<BackendSession> {
  // The built-in loop opens at once, and has no programs.
  if (backend.capabilities.edge) return backend.open(request, env)
  const programs: Promise<LineChannel>[] = []
  const opening = backend.open(request, { ...env, ...watched(env, programs, signal) })
  const session = await orAborted(opening, signal)
  if (session !== undefined) return session
  const closed = opening.then(
    (late) => late.close(),
    () => {},
  )
  await Promise.allSettled(programs.map(async (program) => (await program).end("kill")))
  await withTimeout(env.deadlines.stopMs, undefined, (limit) => orAborted(closed, limit))
  throw stopped()
}

/** Starts programs as the host does, and keeps them; none after the abort. */
function watched(env: BackendEnv, programs: Promise<LineChannel>[], signal: AbortSignal): Pick<BackendEnv, "spawn"> {
  const spawn = env.spawn?.bind(env)
  if (spawn === undefined) return {}
  return {
    async spawn(spec) {
      if (signal.aborted) throw stopped()
      const program = spawn(spec)
      programs.push(program)
      return program
    },
  }
}

function stopped(): LonghaulError {
  return new LonghaulError("cancelled", "The run was stopped before its session was open.")
}
