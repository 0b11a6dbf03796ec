import { type Failure, LonghaulError } from "../contract/error.ts"
import type { RecordBody } from "../contract/event.ts"
import type { RunResult } from "../contract/result.ts"
import { capabilitiesUsed, resultOf, stoppedResult } from "../journal/result.ts"
import { redactFailure } from "../settings/config/secrets.ts"
import { digestFiles } from "./session/handover.ts"
import { recordUndelivered } from "./session/undelivered.ts"
import type { StopCause } from "./state/controls.ts"
import type { OpenRun } from "./state/open-run.ts"
import type { RunStop } from "./state/stops.ts"

/** Records the end of the run, releases it, and returns its result. */
export async function closeRun(run: OpenRun, stop: RunStop): Promise<RunResult> {
  const { journal, controls, projection, folder } = run
  let lost = lossOf(run)
  if (lost === undefined) {
    try {
      recordUndelivered(run)
      const end = await endOf(run, stop)
      const files = end.type === "run-end" && end.status === "done" ? {} : await digestFiles(run)
      if (Object.keys(files).length > 0) journal.append({ type: "checkpoint", files })
      if (run.publisher.hasDeltas) {
        // The fold has durable records only.
        await journal.flush()
        run.show({ type: "capabilities", used: capabilitiesUsed(projection) })
      }
      journal.append(end)
      await journal.release()
    } catch (error) {
      controls.lose(error)
      lost = lossOf(run)
    }
  } else {
    controls.steers.disconnect()
    await journal.release().catch(() => {})
  }
  const stored = { workspaceId: run.key.workspaceId, path: folder.location, lastShard: journal.shard }
  if (lost) return stoppedResult(projection, stored, redactFailure(run.redactor, lost.toJSON()))
  const result = resultOf(projection, stored)
  return result.status === "running" ? stoppedResult(projection, stored, withoutEnd.toJSON()) : result
}

const withoutEnd = new LonghaulError("internal", "The run's journal was closed without an end.")

/** The run is done, unless its answer does not have the required form, or the run was stopped while that was checked. */
async function doneOf(run: OpenRun, text: string): Promise<RecordBody> {
  const { output, redactor, controls } = run
  if (!output) return { type: "run-end", status: "done" }
  const verdict = await output.conclude(redactor.text(text), controls.signal)
  if (verdict === undefined) return controls.cause?.kind === "timeout" ? timedOut(controls.cause) : wasCancelled
  return verdict.output ? { type: "run-end", status: "done", output: verdict.output } : failed(verdict.validationError)
}

/** The record that ends or pauses the run. */
async function endOf(run: OpenRun, stop: RunStop): Promise<RecordBody> {
  const { cause } = run.controls
  if (cause?.kind === "timeout" && stop.reason !== "done" && stop.reason !== "ended") return timedOut(cause)
  switch (stop.reason) {
    case "done":
      return doneOf(run, stop.text)
    case "ended":
      // The fold has durable records only.
      await run.journal.flush()
      return doneOf(run, run.projection.text)
    case "interrupted":
      return wasCancelled
    case "released":
      return wasReleased(run)
    case "limit":
      return failed(stop.failure ?? new LonghaulError("max_turns", "The backend reached its turn limit."))
    case "output-limit":
      return failed(
        new LonghaulError("output_limit", "The answer was cut at the model's output limit.", {
          fix: "Raise maxOutputTokens.",
        }),
      )
    case "refusal":
      return failed(new LonghaulError("content_filtered", "The model refused to answer."))
    case "failed":
      return failed(stop.failure)
    case "suspended":
      return cause?.kind === "cancel" ? wasCancelled : pauseOf(run, stop)
  }
}

function pauseOf(run: OpenRun, { pause, resumeBy }: RunStop & { readonly reason: "suspended" }): RecordBody {
  switch (pause?.kind) {
    case "asked": {
      const { reason, callId } = pause.request
      return { type: "run-pause", reason, callId, ...(resumeBy && { resumeBy }) }
    }
    case "handover":
      return { type: "run-pause", reason: "handover", text: pause.text }
    case "released":
      return wasReleased(run)
    case undefined:
      return failed(new LonghaulError("backend_protocol", "The backend stopped for a decision that was not requested."))
  }
}

function wasReleased({ controls, input }: OpenRun): RecordBody {
  const isSlice = input.slice !== undefined && !controls.releasing
  return { type: "run-pause", reason: "released", ...(isSlice && { slice: true }) }
}

function timedOut({ timeMs }: StopCause & { readonly kind: "timeout" }): RecordBody {
  return failed(
    new LonghaulError("run_timeout", `The run took longer than ${timeMs} ms.`, { fix: "Raise limits.timeMs." }),
  )
}

function failed(error: LonghaulError | Failure): RecordBody {
  return { type: "run-end", status: "failed", error: LonghaulError.is(error) ? error.toJSON() : error }
}

export const wasCancelled: RecordBody = {
  type: "run-end",
  status: "cancelled",
  error: new LonghaulError("cancelled", "The run was cancelled.").toJSON(),
}

function lossOf({ controls }: OpenRun): LonghaulError | undefined {
  return controls.cause?.kind === "lost" ? controls.cause.error : undefined
}
