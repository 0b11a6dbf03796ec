import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunState } from "../contract/runtime.ts"
import type { Folder, RunKey } from "../contract/store.ts"
import { runPath } from "../journal/paths.ts"
import { project, type RunProjection } from "../journal/projection.ts"
import { createReader, type IsVoid, isVoidClaim, type RowView, readRow, type Taking } from "../journal/reader.ts"
import { factsWithout, resultOf } from "../journal/result.ts"
import type { KnownRow } from "../journal/row.ts"
import type { KnownShard } from "../journal/shard.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { readBeat } from "./state-file.ts"

/** Reads the state of a run from its journal. */
export async function readRun(config: ResolvedConfig, key: RunKey): Promise<RunState> {
  const found = await viewOf(config, key)
  const state = found && stateOf(found)
  if (state) return state.status === "running" && (await isLost(config, key, found)) ? { ...state, lost: true } : state
  const error = noSuchRun(key).toJSON()
  return { ...factsWithout(key, config.store.location), status: "not_found", data: null, error }
}

/**
 * The records that events show. Where nothing else is known, those that a takeover may still discard: of a run that has no others,
 * and if the process that takes it cannot be identified, so that no one would ever know whether it died.
 */
async function viewOf(config: ResolvedConfig, key: RunKey): Promise<FoundRun | null> {
  const certain = await loadRun(config, key)
  if (certain && !certain.takeoverPending) return certain
  const inspected = await inspectRun(config, key)
  return certain && inspected?.taking?.claim?.owner ? certain : inspected
}

/** True if the status of the run is `running` although its owner is known to be dead, or to have lost its store. */
export async function isLost(config: ResolvedConfig, key: RunKey, found: FoundRun): Promise<boolean> {
  const { projection, owner, top, taking, takeoverPending } = found
  if (projection.status !== "running") return false
  if (taking ? !(await isVoidTake(config, key)(top, taking)) : takeoverPending) return false
  const path = runPath(key)
  const folder = config.store.folder(path)
  if (config.abandoned.get(path)?.includes(top)) return true
  if (owner !== null && config.isDead(owner, folder.append !== undefined)) return true
  return (await readBeat(folder, top)) === "lost"
}

export function stateOf({ workspaceId, projection, path, top, hints }: FoundRun): RunState {
  const state = resultOf(projection, { workspaceId, path, lastShard: top })
  return hints.length === 0 ? state : { ...state, warnings: [...state.warnings, ...hints] }
}

export function noSuchRun({ runId, nodeId }: RunKey): LonghaulError {
  return new LonghaulError("not_found", `There is no run ${runId} (node ${nodeId}) in this workspace.`, {
    fix: "Check the id, the node and the workspace.",
  })
}

/** A run as it was when its journal was read. */
export interface FoundRun {
  readonly workspaceId: string
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
  const reader = createReader(folder, isVoidTake(config, key))
  const records = await reader.next()
  return records.length > 0 ? foundRun(key, folder, records, reader) : null
}

/** Finds takes that no process will complete. */
export function isVoidTake({ store, isDead, abandoned }: ResolvedConfig, key: RunKey): IsVoid {
  const path = runPath(key)
  const folder = store.folder(path)
  return async (shard, taking) => {
    if (abandoned.get(path)?.includes(shard) || isVoidClaim(folder, taking, isDead)) return true
    return (await readBeat(folder, shard)) === "lost"
  }
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
  const found = row && foundRun(key, folder, row.records, row, taking)
  return { top, isRemoved: row !== null && found === null, found }
}

function foundRun(
  { workspaceId }: RunKey,
  folder: Folder,
  records: readonly RunRecord[],
  view: RowView,
  taking?: Taking,
): FoundRun | null {
  const projection = project(records)
  if (projection.removed) return null
  const { top, owner, mark, known: head, takeoverPending } = view
  const { location: path } = folder
  const hints = hintsOf(view)
  const seen = { path, top, head, owner, mark, takeoverPending, ...(taking && { taking }), hints }
  return { workspaceId, projection, records, ...seen }
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
