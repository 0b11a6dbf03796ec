import type { RecordBody, RunRecord } from "../../contract/event.ts"
import type { RecordedWebhook } from "../../contract/webhook.ts"
import type { TakeOptions } from "../../journal/journal.ts"
import type { RunProjection } from "../../journal/projection.ts"
import type { FoundRun } from "../../runs/read-runs.ts"
import type { CheckedInput } from "../../settings/input/input.ts"

/** Describes how this process opens a run: as a new run or as a resumed one. */
export interface Opening extends Pick<TakeOptions, "fresh" | "after" | "known" | "abandoned"> {
  readonly input: CheckedInput
  readonly isNew: boolean
  /** The run as it was read, if it existed before. */
  readonly found?: FoundRun
  /** True for a resumed run if no other process can still be running the calls of its last owner. */
  readonly ownerStopped?: boolean
  /** A message for the model, sent before the run continues. */
  readonly message?: string
  /** Chooses the receiver of a background run's webhook. */
  webhookOf?(history: RunProjection): RecordedWebhook | undefined
  /** Returns the first records of the new owner. `history`: the fold over the existing records; empty for a new run. */
  first(history: RunProjection): readonly RecordBody[]
  /**
   * Plans the opening again, from records that are not those of `found`: between reading and taking the run, its owner continued
   * or another process took it. `isExtended`: the records of `found` still count. Absent for a new run, which has no records.
   */
  again?(records: readonly RunRecord[], isExtended: boolean): Promise<Opening>
}
