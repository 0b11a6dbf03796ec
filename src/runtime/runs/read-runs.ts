import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunFilter, RunState, RunSummary } from "../../contract/run.ts"
import type { Folder, RunKey } from "../../contract/store.ts"
import { nodesPath, projectsPath, runPath } from "../../journal/paths.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { createReader, type RowView, readRow, type Taking } from "../../journal/reader.ts"
import { factsWithout, resultOf, summaryOf } from "../../journal/result.ts"
import type { KnownRow } from "../../journal/row.ts"
import type { KnownShard } from "../../journal/shard.ts"
import { isId } from "../../lib/id.ts"
import type { ResolvedConfig } from "../config.ts"

/** A run as the journal has it. */
export async function readRun(config: ResolvedConfig, key: RunKey): Promise<RunState> {
  const found = await judgeRun(config, key)
  const state = found && stateOf(found)
  if (state) return state.status === "running" && isLost(config, key, found) ? { ...state, lost: true } : state
  const error = noSuchRun(key).toJSON()
  return { ...factsWithout(key, config.store.location), status: "not_found", data: null, error }
}

/** Whether the run says that it is under way although its process is known to be dead. */
function isLost({ store, isGone }: ResolvedConfig, key: RunKey, { projection, owner, taking }: FoundRun): boolean {
  if (projection.status !== "running" || owner === null || taking) return false
  return isGone(owner, store.folder(runPath(key)).append !== undefined)
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

/** The runs of the workspace, newest first. */
export async function listRuns(config: ResolvedConfig, filter: RunFilter = {}): Promise<RunSummary[]> {
  const summaries: RunSummary[] = []
  for (const key of await listKeys(config)) {
    const found = await judgeRun(config, key)
    if (found) summaries.push({ ...summaryOf(found.projection), ...(isLost(config, key, found) && { lost: true }) })
  }
  summaries.sort((left, right) => right.startedAt - left.startedAt)
  const { status, before, limit = Number.POSITIVE_INFINITY } = filter
  const from = before === undefined ? 0 : summaries.findIndex(({ runId }) => runId === before) + 1
  return summaries
    .slice(from)
    .filter((summary) => status === undefined || summary.status === status)
    .slice(0, limit)
}

export async function listKeys({ store, workspaceId }: ResolvedConfig): Promise<RunKey[]> {
  const keys: RunKey[] = []
  // Other programs leave files of their own in folders; what cannot be a run is none.
  for (const runId of (await store.list(projectsPath(workspaceId))).filter(isId)) {
    for (const nodeId of (await store.list(nodesPath(workspaceId, runId))).filter(isId)) {
      keys.push({ workspaceId, runId, nodeId })
    }
  }
  return keys
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
  readonly unsettled: boolean
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
export async function judgeRun(config: ResolvedConfig, key: RunKey, known?: KnownRow): Promise<FoundRun | null> {
  const folder = config.store.folder(runPath(key))
  const { row, taking } = await readRow(folder, known)
  return row && foundRun(folder, row.records, row, taking)
}

function foundRun(folder: Folder, records: readonly RunRecord[], view: RowView, taking?: Taking): FoundRun | null {
  const projection = project(records)
  if (projection.removed) return null
  const { top, owner, mark, known: head, unsettled } = view
  const { location: path } = folder
  const hints = hintsOf(view)
  return { projection, records, path, top, head, owner, mark, unsettled, ...(taking && { taking }), hints }
}

/** What a reader saw beside the records. */
function hintsOf({ unsettled, droppedBytes }: RowView): FoundRun["hints"] {
  const unfinished = `${droppedBytes} bytes of an unfinished write are not counted; the run may still be at it.`
  return [
    ...(unsettled
      ? [{ code: "takeover_under_way", message: "Somebody began to take this run over, and may have died since." }]
      : []),
    ...(droppedBytes > 0 ? [{ code: "journal_tail_unfinished", message: unfinished }] : []),
  ]
}
