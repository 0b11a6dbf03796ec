import type { Stop } from "../contract/backend.ts"
import type { Feature } from "../contract/capabilities.ts"
import { type Failure, LonghaulError } from "../contract/error.ts"
import { supports } from "./backends/select.ts"
import { type RunTarget, recordedTarget } from "./backends/targets.ts"
import { settleOpenCalls } from "./calls/settle-open-calls.ts"
import type { ResolvedConfig } from "./config.ts"
import { drive } from "./drive.ts"
import type { OpenRun } from "./open-run.ts"

/**
 * Runs the entries of the chain in order, until one finishes the work: a failure that may not repeat elsewhere continues the
 * run on the next one, with everything that is in the journal.
 */
export async function attempt(config: ResolvedConfig, run: OpenRun): Promise<Stop> {
  const { chain, entry } = run.input
  for (let index = entry; ; index++) {
    const target = chain[index] ?? chain[0]
    run.target = target
    const missing = chain.length > 1 ? missingIn(target) : []
    const stop = missing.length > 0 ? skipped(target, missing) : await drive(config, run, index)
    if (stop.reason !== "failed" || chain.length === 1) return stop
    const { failure } = stop
    const next = failsOver(failure) ? chain[index + 1] : undefined
    try {
      await recordFailover(run, failure, next)
    } catch (error) {
      run.controls.lose(error)
      return { reason: "interrupted" }
    }
    if (next === undefined) return failsOver(failure) ? exhausted(run, failure) : stop
  }
}

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

function missingIn({ backend, requires }: RunTarget): readonly Feature[] {
  return requires.filter((feature) => !supports(backend.capabilities, feature))
}

function skipped({ backend }: RunTarget, missing: readonly Feature[]): Stop {
  const failure = new LonghaulError("capability_mismatch", `${backend.name} does not support ${missing.join(", ")}.`, {
    fix: "Remove the requirement, or name another backend.",
  })
  return { reason: "failed", failure: failure.toJSON() }
}

function exhausted({ input }: OpenRun, last: Failure): Stop {
  const failure = new LonghaulError(
    "providers_exhausted",
    `All ${input.chain.length} entries of the chain failed. The last failure: ${last.message}`,
    { fix: "Resume the run later, or add another entry to the chain.", data: { code: last.code } },
  )
  return { reason: "failed", failure: failure.toJSON() }
}
