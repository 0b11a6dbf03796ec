import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunState } from "../../contract/runtime.ts"
import type { Folder, RunKey } from "../../contract/store.ts"
import { runPath } from "../../journal/paths.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { createReader, type RowView, readRow, type Taking } from "../../journal/reader.ts"
import { factsWithout, resultOf } from "../../journal/result.ts"
import type { KnownRow } from "../../journal/row.ts"
import type { KnownShard } from "../../journal/shard.ts"
import type { ResolvedConfig } from "../config.ts"

/** Reads the state of a run from its journal. */
export async function readRun(config: ResolvedConfig, key: RunKey): Promise<RunState> {
  const found = await inspectRun(config, key)
  const state = found && stateOf(found)
  if (state) return state.status === "running" && isLost(config, key, found) ? { ...state, lost: true } : state
  const error = noSuchRun(key).toJSON()
  return { ...factsWithout(key, config.store.location), status: "not_found", data: null, error }
}

/** True if the status of the run is `running` although its owner is known to be dead. */
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
  /** The head as far as it was read; undefined during a takeover. */
  readonly head: KnownShard | undefined
  /** The process that wrote the newest records. */
  readonly owner: JsonObject | null
  /** Changes with every write of the run's owner. */
  readonly mark: string
  /** Another process may be taking the run, so its newest records are hidden. */
  readonly takeoverPending: boolean
  /** A takeover that was started and is not recorded. Only `inspectRun` reports it. */
  readonly taking?: Taking
  /** Warnings about the read itself, which no record contains. */
  readonly hints: RunState["warnings"]
}

/** Loads the records that no takeover can discard. Returns null if the run does not exist or was removed. */
export async function loadRun(config: ResolvedConfig, key: RunKey): Promise<FoundRun | null> {
  const folder = config.store.folder(runPath(key))
  const reader = createReader(folder)
  const records = await reader.next()
  return records.length > 0 ? foundRun(folder, records, reader) : null
}

/** Reads the run as a new owner would find it now. Its newest records may still be discarded by a takeover. */
export async function inspectRun(config: ResolvedConfig, key: RunKey, known?: KnownRow): Promise<FoundRun | null> {
  return (await readRunRow(config, key, known)).found
}

/** A row of shards and the run that it contains. */
export interface FoundRow {
  /** The row's highest shard, or -1. */
  readonly top: number
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

/** Warnings about unfinished writes and takeovers. */
function hintsOf({ takeoverPending, droppedBytes }: RowView): FoundRun["hints"] {
  const unfinished = `${droppedBytes} bytes of an unfinished write are not counted; the owner may still be writing.`
  return [
    ...(takeoverPending
      ? [{ code: "takeover_under_way", message: "A process started to take over this run, and may have died since." }]
      : []),
    ...(droppedBytes > 0 ? [{ code: "journal_tail_unfinished", message: unfinished }] : []),
  ]
}
