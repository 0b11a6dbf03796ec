import { LonghaulError } from "../contract/error.ts"
import type { RunKey } from "../contract/store.ts"
import {
  decodeSummary,
  encodeSummary,
  entryName,
  type KeptSummary,
  markName,
  type ReleasedEntry,
} from "../journal/index-entries.ts"
import { indexPath, nodesPath, projectsPath } from "../journal/paths.ts"
import type { RunProjection } from "../journal/projection.ts"
import { summaryOf } from "../journal/result.ts"
import { isId } from "../lib/id.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { subscribedEvents } from "../webhooks/outbox.ts"
import type { FoundRun } from "./read-runs.ts"

/** The location of an index, and the logger for failed writes. See docs/decisions/0018-keep-index-of-runs-as-cache.md. */
export type Index = Pick<ResolvedConfig, "store" | "workspaceId" | "logger">

/**
 * Marks a run that is about to be taken; `found`: the run as it was read, if it exists. Rejects if the mark could not be
 * written; the run must not be taken then. A new run needs no entry: the first listing that reads its journal creates one.
 */
export async function markTake(index: Index, key: RunKey, found: FoundRun | undefined): Promise<void> {
  // Lists show runs, not their agents.
  if (key.agent !== undefined) return
  if (found) {
    await markAgain(index, key, found)
    await contained(index, key, [forgetReleased(index, key, found)])
  } else if (key.nodeId !== MAIN) await markNode(index, key)
}

/** Invalidates the earlier entries of a run. Also marks the other nodes, since older versions wrote no marks for them. */
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

/** Records that a run has a node other than `main`. */
export async function markNode({ store }: Index, { workspaceId, runId, nodeId }: RunKey): Promise<void> {
  await store.folder(projectsPath(workspaceId)).create(markName({ runId, nodeId }), nothing)
}

/** All names that entries of this run can have. */
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

/** Deletes the outdated entry of an earlier release, and the mark of the take before that release. */
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
  /** The last shard of the row, and the number of valid bytes in it. */
  readonly shard: number
  readonly bytes: number
  /** True if webhook deliveries may be pending. */
  readonly owes: boolean
  /** The mark of the owner, if it wrote one. */
  readonly taken?: number | undefined
}

/** Writes the index entry of a paused or ended run. Never rejects: without the entry, a listing reads the journal. */
export async function enterReleased(index: Index, key: RunKey, released: Released): Promise<void> {
  const { projection, shard, bytes, owes, taken } = released
  const { startedAt, status } = projection
  const { runId, nodeId, agent } = key
  if (status === "running" || agent !== undefined) return
  const entry: ReleasedEntry = { kind: "released", runId, nodeId, startedAt, shards: shard + 1, status, owes }
  const kept = { summary: summaryOf(key, projection), bytes, ...(taken !== undefined && { taken }) }
  await replaceEntries(index, key, entry, kept, [entryName({ ...entry, kind: "begun" })])
}

/** Writes the index entry of a run that was read from its journal. `others`: the names of its existing entries. */
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
  // No summary is stored for a run that may still change, or whose journal was copied from another run.
  const isOwn = projection.runId === runId && projection.nodeId === nodeId
  if (status === "running" || taking || takeoverPending || !isOwn) {
    if (!others.includes(begun)) await contained(index, key, [entries.create(begun, nothing)])
    return
  }
  const entry: ReleasedEntry = { kind: "released", runId, nodeId, startedAt, shards: top + 1, status, owes }
  const kept = { summary: summaryOf(key, projection), bytes: head?.validBytes ?? 0 }
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

/** Writes the index entry of a removed run. Never rejects. */
export async function enterRemoved(index: Index, key: RunKey, others: readonly string[]): Promise<void> {
  const { runId, nodeId, workspaceId } = key
  const entries = index.store.folder(indexPath(workspaceId))
  const name = entryName({ kind: "removed", runId, nodeId })
  const superfluous = others.filter((other) => other !== name)
  await contained(index, key, [entries.create(name, nothing), ...superfluous.map((other) => entries.delete(other))])
}

/** Deletes entries without a run. Never rejects. */
export async function deleteEntries(index: Index, key: RunKey, names: readonly string[]): Promise<void> {
  const entries = index.store.folder(indexPath(key.workspaceId))
  const deletes = names.map((name) => entries.delete(name))
  await contained(index, key, deletes)
}

/** Waits for all writes and logs failures. A later listing repeats index writes that failed. */
async function contained({ logger }: Index, key: RunKey, works: readonly Promise<unknown>[]): Promise<void> {
  const { runId, nodeId } = key
  for (const outcome of await Promise.allSettled(works)) {
    if (outcome.status === "fulfilled") continue
    const error = LonghaulError.is(outcome.reason) ? outcome.reason.code : "internal"
    logger?.warn("The index of runs could not be written; a later listing will repair it.", { runId, nodeId, error })
  }
}

/** The default node of a run. */
export const MAIN = "main"
const nothing = new Uint8Array()
