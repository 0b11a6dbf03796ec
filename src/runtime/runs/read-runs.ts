import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunState } from "../../contract/run.ts"
import type { Folder, RunKey } from "../../contract/store.ts"
import { runPath } from "../../journal/paths.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { createReader, type RowView, readRow, type Taking } from "../../journal/reader.ts"
import { factsWithout, resultOf } from "../../journal/result.ts"
import type { KnownRow } from "../../journal/row.ts"
import type { KnownShard } from "../../journal/shard.ts"
import type { ResolvedConfig } from "../config.ts"

/** A run as the journal has it. */
export async function readRun(config: ResolvedConfig, key: RunKey): Promise<RunState> {
  const found = await inspectRun(config, key)
  const state = found && stateOf(found)
  if (state) return state.status === "running" && isLost(config, key, found) ? { ...state, lost: true } : state
  const error = noSuchRun(key).toJSON()
  return { ...factsWithout(key, config.store.location), status: "not_found", data: null, error }
}

/** Whether the run says that it is under way although its process is known to be dead. */
export function isLost(
  { store, isDead }: ResolvedConfig,
  key: RunKey,
  { projection, owner, taking }: FoundRun,
): boolean {
  if (projection.status !== "running" || owner === null || taking) return false
  return isDead(owner, store.folder(runPath(key)).append !== undefined)
}

export function stateOf({ projection, path, top, hints }: FoundRun): RunState {
  const state = resultOf(projection, { path, lastShard: top })
  return hints.length === 0 ? state : { ...state, warnings: [...state.warnings, ...hints] }
}

export function noSuchRun({ runId, nodeId }: RunKey): LonghaulError {
  return new LonghaulError("not_found", `There is no run ${runId} (node ${nodeId}) in this workspace.`, {
    fix: "Check the id, the node and the workspace.",
  })
}

/** A run as it was when its journal was read. */
export interface FoundRun {
  readonly projection: RunProjection
  readonly records: readonly RunRecord[]
  readonly path: string
  /** The row's highest shard. */
  readonly top: number
  /** The head as far as it was read; undefined while a takeover is under way. */
  readonly head: KnownShard | undefined
  /** Who wrote its newest records. */
  readonly owner: JsonObject | null
  /** Another one whenever the run's owner has written anything. */
  readonly mark: string
  /** Its newest records are hidden while another process may be taking it. */
  readonly takeoverPending: boolean
  /** A take that was begun and is not on record, where the run was judged. */
  readonly taking?: Taking
  /** Warnings that are in no record. */
  readonly hints: RunState["warnings"]
}

/** What of a run can no longer be taken back. Null where there is none, or none any more. */
export async function loadRun(config: ResolvedConfig, key: RunKey): Promise<FoundRun | null> {
  const folder = config.store.folder(runPath(key))
  const reader = createReader(folder)
  const records = await reader.next()
  return records.length > 0 ? foundRun(folder, records, reader) : null
}

/** The run as whoever takes it now would find it: to look at and to decide on, not to act on as if it were certain. */
export async function inspectRun(config: ResolvedConfig, key: RunKey, known?: KnownRow): Promise<FoundRun | null> {
  return (await readRunRow(config, key, known)).found
}

/** A row and the run in it. */
export interface FoundRow {
  /** The row's highest shard, or -1. */
  readonly top: number
  /** Its run was removed. */
  readonly isRemoved: boolean
  readonly found: FoundRun | null
}

export async function readRunRow(
  { store }: Pick<ResolvedConfig, "store">,
  key: RunKey,
  known?: KnownRow,
): Promise<FoundRow> {
  const folder = store.folder(runPath(key))
  const { top, row, taking } = await readRow(folder, known)
  const found = row && foundRun(folder, row.records, row, taking)
  return { top, isRemoved: row !== null && found === null, found }
}

function foundRun(folder: Folder, records: readonly RunRecord[], view: RowView, taking?: Taking): FoundRun | null {
  const projection = project(records)
  if (projection.removed) return null
  const { top, owner, mark, known: head, takeoverPending } = view
  const { location: path } = folder
  const hints = hintsOf(view)
  return { projection, records, path, top, head, owner, mark, takeoverPending, ...(taking && { taking }), hints }
}

/** What a reader saw beside the records. */
function hintsOf({ takeoverPending, droppedBytes }: RowView): FoundRun["hints"] {
  const unfinished = `${droppedBytes} bytes of an unfinished write are not counted; the run may still be at it.`
  return [
    ...(takeoverPending
      ? [{ code: "takeover_under_way", message: "Somebody began to take this run over, and may have died since." }]
      : []),
    ...(droppedBytes > 0 ? [{ code: "journal_tail_unfinished", message: unfinished }] : []),
  ]
}
