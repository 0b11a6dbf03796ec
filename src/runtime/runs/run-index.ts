import { LonghaulError } from "../../contract/error.ts"
import type { RunKey } from "../../contract/store.ts"
import {
  decodeSummary,
  encodeSummary,
  entryName,
  type KeptSummary,
  markName,
  type ReleasedEntry,
} from "../../journal/index-entries.ts"
import { indexPath, nodesPath, projectsPath } from "../../journal/paths.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { summaryOf } from "../../journal/result.ts"
import { isId } from "../../lib/id.ts"
import { subscribedEvents } from "../../webhooks/outbox.ts"
import type { ResolvedConfig } from "../config.ts"
import type { FoundRun } from "./read-runs.ts"

/** Where an index is, and who hears that it could not be written. See docs/decisions/0018-index-of-runs.md. */
export type Index = Pick<ResolvedConfig, "store" | "workspaceId" | "logger">

/** A run that is about to be taken. */
export interface Entering {
  readonly startedAt: number
  /** The run as it was found, where there was one. */
  readonly found?: FoundRun
}

/**
 * Marks a run that is about to be taken, and puts it into the index. Rejects where it could not be marked, and then it must not
 * be taken. Its entry comes beside the take: `entered` never rejects, because a listing also finds a run without an entry.
 */
export async function enterIndex(
  index: Index,
  key: RunKey,
  { startedAt, found }: Entering,
): Promise<{ readonly entered: Promise<void> }> {
  const { runId, nodeId, workspaceId } = key
  const entries = index.store.folder(indexPath(workspaceId))
  if (found) await markAgain(index, key, found)
  else if (nodeId !== MAIN) await markNode(index, key)
  const begun = entries.create(entryName({ kind: "begun", runId, nodeId, startedAt }), nothing)
  return { entered: contained(index, key, [begun, ...(found ? [forgetReleased(index, key, found)] : [])]) }
}

/** From here on no entry of before says what the run is. Older versions left no marks for nodes: they get them now. */
async function markAgain(index: Index, key: RunKey, found: FoundRun): Promise<void> {
  const { store } = index
  const nodes = await store.list(nodesPath(key.workspaceId, key.runId))
  const unmarked = nodes.filter((nodeId) => isId(nodeId) && nodeId !== MAIN && nodeId !== key.nodeId)
  const marks = store.folder(projectsPath(key.workspaceId))
  await Promise.all([
    marks.create(markName({ ...key, taken: found.top + 1 }), nothing),
    ...unmarked.map((nodeId) => markNode(index, { ...key, nodeId })),
  ])
}

/** The name that says that a run has this node too. */
export async function markNode({ store }: Index, { workspaceId, runId, nodeId }: RunKey): Promise<void> {
  await store.folder(projectsPath(workspaceId)).create(markName({ runId, nodeId }), nothing)
}

/** The names that the entries of a run may have. */
export function entriesOf(key: RunKey, found: FoundRun): readonly string[] {
  const { runId, nodeId } = key
  const { startedAt } = found.projection
  return [entryName({ kind: "begun", runId, nodeId, startedAt }), ...releasesOf(key, found).map(entryName)]
}

function releasesOf({ runId, nodeId }: RunKey, { projection, head, top }: FoundRun): readonly ReleasedEntry[] {
  const { startedAt, status } = projection
  if (status === "running") return []
  const entry = { kind: "released", runId, nodeId, startedAt, shards: (head?.shard ?? top) + 1, status } as const
  return [false, true].map((owes) => ({ ...entry, owes }))
}

/** Deletes the entry of a release that no longer counts, and the mark of the take before it. */
async function forgetReleased({ store }: Index, key: RunKey, found: FoundRun): Promise<void> {
  const { runId, nodeId, workspaceId } = key
  const entries = store.folder(indexPath(workspaceId))
  for (const entry of releasesOf(key, found)) {
    const bytes = await entries.read(entryName(entry))
    if (bytes === null) continue
    const taken = decodeSummary(bytes, entry)?.taken
    await entries.delete(entryName(entry))
    if (taken === undefined || taken > found.top) continue
    await store.folder(projectsPath(workspaceId)).delete(markName({ runId, nodeId, taken }))
  }
}

/** A run that its owner released. */
export interface Released {
  readonly projection: RunProjection
  /** The last shard of its row, and how many bytes of it count. */
  readonly shard: number
  readonly bytes: number
  /** Its webhooks may still have something to deliver. */
  readonly owes: boolean
  /** The mark of its owner, where it had one. */
  readonly taken?: number
}

/** Says in the index that a run is paused or over. Never rejects: a listing that misses the entry reads the journal. */
export async function enterReleased(index: Index, key: RunKey, released: Released): Promise<void> {
  const { projection, shard, bytes, owes, taken } = released
  const { startedAt, status } = projection
  const { runId, nodeId } = key
  if (status === "running") return
  const entry: ReleasedEntry = { kind: "released", runId, nodeId, startedAt, shards: shard + 1, status, owes }
  const kept = { summary: summaryOf(projection), bytes, ...(taken !== undefined && { taken }) }
  await replaceEntries(index, key, entry, kept, [entryName({ ...entry, kind: "begun" })])
}

/** The same for a run that was read. `others`: the names of its entries so far. */
export async function enterFound(
  index: Index,
  key: RunKey,
  found: FoundRun,
  others: readonly string[],
  owes = subscribedEvents(found.records).length > 0,
): Promise<void> {
  const { runId, nodeId, workspaceId } = key
  const { projection, top, taking, takeoverPending, head } = found
  const { startedAt, status } = projection
  const entries = index.store.folder(indexPath(workspaceId))
  const begun = entryName({ kind: "begun", runId, nodeId, startedAt })
  // A journal that was copied from another run says so, and what may be changing has nothing to keep.
  const isOwn = projection.runId === runId && projection.nodeId === nodeId
  if (status === "running" || taking || takeoverPending || !isOwn) {
    if (!others.includes(begun)) await contained(index, key, [entries.create(begun, nothing)])
    return
  }
  const entry: ReleasedEntry = { kind: "released", runId, nodeId, startedAt, shards: top + 1, status, owes }
  const kept = { summary: summaryOf(projection), bytes: head?.validBytes ?? 0 }
  await replaceEntries(index, key, entry, kept, others)
}

async function replaceEntries(
  index: Index,
  key: RunKey,
  entry: ReleasedEntry,
  kept: KeptSummary,
  others: readonly string[],
): Promise<void> {
  const entries = index.store.folder(indexPath(key.workspaceId))
  const name = entryName(entry)
  const superfluous = others.filter((other) => other !== name)
  await contained(index, key, [
    entries.replace(name, encodeSummary(kept)),
    ...superfluous.map((other) => entries.delete(other)),
  ])
}

/** Says that a run was removed. Never rejects. */
export async function enterRemoved(index: Index, key: RunKey, others: readonly string[]): Promise<void> {
  const { runId, nodeId, workspaceId } = key
  const entries = index.store.folder(indexPath(workspaceId))
  const name = entryName({ kind: "removed", runId, nodeId })
  const superfluous = others.filter((other) => other !== name)
  await contained(index, key, [entries.create(name, nothing), ...superfluous.map((other) => entries.delete(other))])
}

/** Deletes entries that no run stands behind. Never rejects. */
export async function deleteEntries(index: Index, key: RunKey, names: readonly string[]): Promise<void> {
  const entries = index.store.folder(indexPath(key.workspaceId))
  const deletes = names.map((name) => entries.delete(name))
  await contained(index, key, deletes)
}

/** Waits for all of it. An index that cannot be written now is written by a later listing. */
async function contained({ logger }: Index, key: RunKey, works: readonly Promise<unknown>[]): Promise<void> {
  const { runId, nodeId } = key
  for (const settled of await Promise.allSettled(works)) {
    if (settled.status === "fulfilled") continue
    const error = LonghaulError.is(settled.reason) ? settled.reason.code : "internal"
    logger?.warn("The index of runs could not be written; a later listing does so.", { runId, nodeId, error })
  }
}

/** The node that a run has unless its caller names another. */
export const MAIN = "main"
const nothing = new Uint8Array()
