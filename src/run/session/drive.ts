import type { BackendSession, Stop, TurnInput } from "../../contract/backend.ts"
import type { Told } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody } from "../../contract/event.ts"
import { redactFailure } from "../../settings/config/secrets.ts"
import { AnswerCheck } from "../../settings/options/output.ts"
import { settleOpenCalls } from "../calls/settle-open-calls.ts"
import { ownToolOf } from "../calls/ungated-calls.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { RunStop } from "../state/stops.ts"
import { enforcesSchema, recordChoice } from "./choose.ts"
import { contextSetup } from "./context-setup.ts"
import { limitStop, type Prices, SessionHost } from "./host.ts"
import { openSession } from "./open-session.ts"
import { continuation, firstInput, historyOrigin, openRequest, type Prepared, prepare } from "./prepare.ts"
import { countUnpriced, pricesOf } from "./prices.ts"
import { recordUndelivered } from "./undelivered.ts"
import { warnOfUnenforced } from "./unenforced.ts"
import { Watch } from "./watch.ts"

/** Runs a session of the current backend until it stops. `entry`: the backend's place in the chain. */
export async function drive(run: OpenRun, entry: number): Promise<RunStop> {
  const { hooks, target, input } = run
  try {
    recordChoice(run, entry)
    if (input.form) run.output = new AnswerCheck(input.form, enforcesSchema(target))
    if (hooks.has("preRun") && run.key.agent === undefined)
      await hooks.call("preRun", (hook, hooked) => hook.preRun?.(hooked))
    const prices = await pricesOf(run)
    const stopped = (await countUnpriced(run)) ?? refuseLimits(run)
    if (stopped) return stopped
    // A process that takes over the run has to know that a program may have been started.
    if (!target.backend.capabilities.edge) await run.journal.flush()
    const left = await openLeft(run)
    const prepared = prepare(run)
    const session = left ?? (await openNew(run, prepared))
    return redactStop(run, await runSession(run, session, prices, { prepared, isContinued: !!left }))
  } catch (error) {
    if (run.controls.signal.aborted && LonghaulError.is(error) && error.code === "cancelled") {
      return { reason: "interrupted" }
    }
    // A backend must not throw. If it does, it has crashed, unless it throws a LonghaulError with the reason.
    return redactStop(run, { reason: "failed", failure: asError(run, error).toJSON() })
  }
}

/** A run that has spent everything, or has no turn left, opens no session, and a limit that no one could notice in time is refused. */
function refuseLimits(run: OpenRun): Stop | undefined {
  const { ledger, target, projection } = run
  const { edge, metering } = target.backend.capabilities
  // The built-in loop reserves each request, and says what it could still do.
  if (edge) return undefined
  const outOfTurns = ledger.turnLimit(projection.turns + 1)
  if (outOfTurns) return limitStop(outOfTurns)
  if (!ledger.limited) return undefined
  if (ledger.exhausted) return limitStop(ledger.exhausted)
  if (metering === "call" || metering === "turn") return undefined
  throw new LonghaulError(
    "capability_mismatch",
    `${target.backend.name} reports its usage too late for limits.tokens and limits.usd.`,
    {
      fix: "Limit turns or timeMs instead, or use another backend.",
    },
  )
}

/** Opens the session that the run left. Undefined: there is none, or it is lost, and the run needs a new one. */
async function openLeft(run: OpenRun): Promise<BackendSession | undefined> {
  const { backend } = run.target
  const { turns } = run.projection
  const { left } = run
  run.left = undefined
  if (!left) return undefined
  try {
    return await openSession(run, openRequest(run, { kind: "session", ref: left, turns }))
  } catch (error) {
    const isLost = LonghaulError.is(error) && error.code === "session_lost"
    // A session that the caller named is not in the journal: there is nothing else to continue from.
    if (!isLost || run.projection.route.session === undefined) throw error
    const message = `The session of ${backend.name} is lost: the run continues from its journal.`
    run.journal.append({ type: "warning", code: "session_lost", message })
    // Nothing presents them again.
    await settleOpenCalls(run)
    return undefined
  }
}

/** Opens a session with the run's history. */
async function openNew(run: OpenRun, prepared: Prepared): Promise<BackendSession> {
  const context = await contextSetup(run, prepared)
  const request = openRequest(run, historyOrigin(run, prepared))
  return openSession(run, context ? { ...request, context } : request)
}

interface Begun {
  readonly prepared: Prepared
  readonly isContinued: boolean
}

/** Passes interrupts and steering messages to a session while it runs, and closes it. */
async function runSession(
  run: OpenRun,
  session: BackendSession,
  prices: Prices,
  { prepared, isContinued }: Begun,
): Promise<RunStop> {
  const { controls, journal, target } = run
  const { edge, enforcement, tells = [] } = target.backend.capabilities
  const idleMs = edge ? undefined : run.config.deadlines.idleMs
  const watch = new Watch(
    idleMs,
    () => stalled(target),
    () => session.interrupt("immediate"),
  )
  const host = new SessionHost(run, prices, watch)
  try {
    const untold = everything.filter((each) => !tells.includes(each))
    const foreign = { enforcement, ...(untold.length > 0 && { untold }) }
    journal.append({ type: "session", ref: session.ref, ...(!edge && foreign) })
    warnOfUnenforced(run)
    controls.onStop((mode) => {
      if (controls.cause?.kind === "cancel" && !controls.cause.onRecord) journal.append({ type: "interrupt", mode })
      session.interrupt(mode)
    })
    controls.onCompact(() => (session.compact ? session.compact() : journal.append(cannotCompact(run))))
    const turn = isContinued ? await continued(run, session, host, watch, prepared) : firstInput(prepared)
    // Other agents of the run worked while it opened.
    if (host.usedUp) return host.usedUp
    // A message would begin another request.
    controls.steers.connect((message) => !host.usedUp && session.steer(message))
    const stop = await session.run(turn, host)
    const violation = await host.violation()
    if (violation) return { reason: "failed", failure: violation.toJSON() }
    // The answer of an agent would need another request.
    if (stop.reason === "done" && host.usedUp && run.agents?.background.isPending) return host.usedUp
    if (stop.reason === "suspended") return { ...stop, pause: host.suspension }
    if (stop.reason === "interrupted" && controls.stopping) return stop
    const isUnexplained = stop.reason === "interrupted" || (stop.reason === "limit" && stop.failure === undefined)
    return (isUnexplained && watch.cause) || stop
  } finally {
    recordUndelivered(run)
    watch.close()
    host.close()
    await session.close()
    // A tool that the backend no longer waits for still has to be recorded.
    await host.settled()
  }
}

const everything: readonly Told[] = ["subagents", "compaction"]

/** Runs the approved calls that the backend can execute outside its model's loop, then reports the outcomes of the open calls. */
async function continued(
  run: OpenRun,
  session: BackendSession,
  host: SessionHost,
  watch: Watch,
  prepared: Prepared,
): Promise<TurnInput> {
  const { projection, journal, controls } = run
  if (projection.resumeBy === "settle" && session.execute) {
    for (const { callId, name, args } of projection.openCalls) {
      const permit = await host.authorize({ callId, name, args }, ownToolOf(run, name))
      if (permit.kind !== "run") continue
      const outcome = await watch.during(session.execute({ callId, name, args: permit.args }, controls.signal))
      host.emit({ type: "tool-result", callId, outcome, durationMs: 0 })
    }
    await journal.flush()
  }
  return continuation(run, prepared)
}

function cannotCompact({ target, input }: OpenRun): RecordBody {
  const why = input.compaction === false ? "compaction is off" : `${target.backend.name} does it by itself`
  return { type: "warning", code: "compaction_not_possible", message: `The conversation was not shortened: ${why}.` }
}

function stalled({ backend }: OpenRun["target"]): Stop {
  const failure = new LonghaulError("stream_stalled", `${backend.name} gave no sign of life for too long.`, {
    fix: "Resume the run, or raise deadlines.idleMs.",
  })
  return { reason: "failed", failure: failure.toJSON() }
}

/** The text of a finished run is redacted where it is used, which most runs do not. */
function redactStop({ redactor }: OpenRun, stop: RunStop): RunStop {
  return stop.reason === "failed" ? { ...stop, failure: redactFailure(redactor, stop.failure) } : stop
}

function asError({ target }: OpenRun, error: unknown): LonghaulError {
  if (LonghaulError.is(error)) return error
  return new LonghaulError("backend_crashed", `The ${target.backend.name} backend failed unexpectedly.`, {
    cause: error,
  })
}
