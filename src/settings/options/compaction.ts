import type { CompactionSettings, OffloadSettings, RecordedCompaction } from "../../contract/compaction.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Model } from "../../contract/provider.ts"
import { shown, wholeNumber } from "../../lib/known-keys.ts"
import { recalledModel, recordedModel } from "../backends/named-models.ts"

/** Checked settings, with a model as a value. False: a conversation is never shortened. */
export type CheckedCompaction = false | (Omit<CompactionSettings, "model"> & { readonly model?: Model })

/** Checks the settings of a runtime or a run. `base`: those that it does not give. */
export function checkedCompaction(
  given: false | CompactionSettings | undefined,
  resolveModel: (model: Model | string) => Model,
  base: CheckedCompaction = {},
): CheckedCompaction {
  if (given === undefined) return base
  if (given === false) return false
  const { model, at, keep, window, offload } = given
  if (at !== undefined && !(at > 0 && at <= 1)) throw notAShare(at)
  if (keep !== undefined) wholeNumber("compaction.keep", keep)
  if (window !== undefined) wholeNumber("compaction.window", window)
  if (typeof offload === "object") checkOffload(offload)
  const { model: _, ...plain } = given
  return { ...base, ...plain, ...(model !== undefined && { model: resolveModel(model) }) }
}

/** The settings of a resumed run. Its model is the runtime's, or the one that its name means here. */
export function recalledCompaction(
  recorded: RecordedCompaction | false | undefined,
  resolveModel: (model: Model | string) => Model,
  base: CheckedCompaction,
): false | CompactionSettings | undefined {
  if (!recorded || recorded.model === undefined) return recorded
  const { endpoint, model, ...plain } = recorded
  return { ...plain, model: recalledModel({ model, endpoint }, [base ? base.model : undefined], resolveModel) }
}

/** The settings of a run as they are stored: a function that was passed as a value is passed again on resume. */
export function recordedCompaction(
  given: false | CompactionSettings,
  checked: CheckedCompaction,
): RecordedCompaction | false {
  if (given === false) return false
  const { model, offload, ...plain } = given
  const { model: used } = checked || {}
  const { summarizer: _, ...stored } = typeof offload === "object" ? offload : {}
  return {
    ...plain,
    ...(model !== undefined && used && recordedModel(used)),
    ...(offload !== undefined && { offload: typeof offload === "object" ? stored : offload }),
  }
}

function checkOffload(offload: OffloadSettings): void {
  const { thresholdBytes, maxPreviewChars } = offload
  if (thresholdBytes !== undefined) wholeNumber("compaction.offload.thresholdBytes", thresholdBytes)
  if (maxPreviewChars !== undefined) wholeNumber("compaction.offload.maxPreviewChars", maxPreviewChars)
}

function notAShare(at: unknown): LonghaulError {
  return new LonghaulError("config_invalid", `compaction.at is ${shown(at)}.`, {
    fix: "Give compaction.at as a share of the window, above 0 and at most 1.",
  })
}
