import type { Feature } from "../contract/capabilities.ts"
import { type Failure, LonghaulError } from "../contract/error.ts"
import { delay } from "../lib/abort.ts"
import { createRetry, type RetryPolicy } from "../lib/retry.ts"
import { featuresIn } from "../settings/backends/select.ts"
import { type RunTarget, recordedTarget } from "../settings/backends/targets.ts"
import { settleOpenCalls } from "./calls/settle-open-calls.ts"
import { sessionLeft } from "./open/open-run.ts"
import { drive } from "./session/drive.ts"
import type { OpenRun } from "./state/open-run.ts"
import type { RunStop } from "./state/stops.ts"

/**
 * Runs the entries of the chain in order, until one finishes the work: a failure that need not happen elsewhere continues the
 * run on the next one, with everything that is in the journal.
 */
export async function attempt(run: OpenRun): Promise<RunStop> {
  const { chain, entry } = run.input
  for (let index = entry; ; index++) {
    const target = chain[index] ?? chain[0]
    run.target = target
    const missing = missingIn(run, target)
    const isLast = chain[index + 1] === undefined
    const { turns } = run.projection
    const stop = missing.length > 0 ? skipped(target, missing) : await driveAgain(run, index, isLast)
    if (stop.reason !== "failed" || chain.length === 1) return stop
    const { failure } = stop
    try {
      // The session's last reports belong to the fold.
      await run.journal.flush()
      const isMoving = failsOver(failure) || isUnfit(run, failure, turns)
      const next = isMoving ? chain[index + 1] : undefined
      await recordFailover(run, failure, next)
      if (next === undefined) return failsOver(failure) ? exhausted(run, failure) : stop
    } catch (error) {
      run.controls.lose(error)
      return { reason: "interrupted" }
    }
  }
}

/**
 * Drives the backend again after a failure that may pass, by the vendor's session where no step is open, else from the journal. Not if
 * another entry of the chain can continue at once.
 */
async function driveAgain(run: OpenRun, entry: number, isLast: boolean): Promise<RunStop> {
  const { journal, projection, controls, target, input } = run
  let retry = createRetry(sessionRetry)
  for (;;) {
    const { turns } = projection
    const stop = await drive(run, entry)
    if (stop.reason !== "failed" || !isLast || target.backend.capabilities.retries) return stop
    const { failure } = stop
    if (!passing.includes(failure.code) || controls.stopping) return stop
    let delayMs: number | null
    try {
      // The session's last reports belong to the fold.
      await journal.flush()
      // The attempts are those at one turn.
      if (projection.turns > turns) retry = createRetry(sessionRetry)
      delayMs = retry.delayAfter(failure)
      if (delayMs === null) return stop
      const left = sessionLeft(projection, target, input.cwd)
      await settleOpenCalls(run)
      journal.append({ type: "retry", turn: projection.turns + 1, attempt: retry.attempt, delayMs, failure })
      await journal.flush()
      run.left = left
      run.openBefore = []
    } catch (error) {
      controls.lose(error)
      return { reason: "interrupted" }
    }
    await delay(delayMs, controls.signal)
    if (controls.stopping) return { reason: "interrupted" }
  }
}

/** A program is started for each attempt: fewer than for a request. */
const sessionRetry: RetryPolicy = { attempts: 3, firstMs: 500, longestMs: 30_000 }
const passing: readonly string[] = ["rate_limited", "overloaded", "provider_error", "network", "stream_incomplete"]

/** The next backend gets the conversation from the journal, so everything has to be in it. */
async function recordFailover(run: OpenRun, failure: Failure, next: RunTarget | undefined): Promise<void> {
  await settleOpenCalls(run)
  const to = next && { to: recordedTarget(next) }
  run.journal.append({ type: "failover", from: recordedTarget(run.target), ...to, failure })
  await run.journal.flush()
}

/** Retryable failures, and those that only concern this entry. */
function failsOver({ code, retryable }: Failure): boolean {
  return retryable || code === "capability_mismatch" || code === "backend_missing"
}

/** The runtime chose a backend that has no login, or that has not begun an answer: the caller did not ask for this one. `turns`: those before. */
function isUnfit({ target, projection }: OpenRun, { code }: Failure, turns: number): boolean {
  return target.isChosen === true && (code === "auth" || projection.turns === turns)
}

function missingIn({ input }: OpenRun, { backend, requires }: RunTarget): readonly Feature[] {
  const hasServers = Object.keys(input.mcpServers).length > 0
  const features = featuresIn(backend.capabilities, input.dispatcher.listTools(), hasServers)
  return requires.filter((feature) => !features.includes(feature))
}

function skipped({ backend }: RunTarget, missing: readonly Feature[]): RunStop {
  const failure = new LonghaulError("capability_mismatch", `${backend.name} does not support ${missing.join(", ")}.`, {
    fix: "Remove the requirement, or name another backend.",
  })
  return { reason: "failed", failure: failure.toJSON() }
}

function exhausted({ input }: OpenRun, last: Failure): RunStop {
  const failure = new LonghaulError(
    "providers_exhausted",
    `All ${input.chain.length} entries of the chain failed. The last failure: ${last.message}`,
    { fix: "Resume the run later, or add another entry to the chain.", data: { code: last.code } },
  )
  return { reason: "failed", failure: failure.toJSON() }
}
