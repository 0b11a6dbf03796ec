import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunFilter, RunPosition, RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { decodeSummary, entryName, indexedTime, type ReleasedEntry } from "../journal/index-entries.ts"
import { indexPath, nodesPath, runPath, shardName } from "../journal/paths.ts"
import { summaryOf } from "../journal/result.ts"
import { checkedId, isId } from "../lib/id.ts"
import { canonicalJson } from "../lib/json.ts"
import { partOf } from "../lib/list-part.ts"
import { type ResolvedConfig, requireJson } from "../settings/config/config.ts"
import { inLanes } from "./lanes.ts"
import { type FoundRow, type FoundRun, isLost, readRunRow } from "./read-runs.ts"
import { deleteEntries, enterFound, enterRemoved } from "./run-index.ts"
import { LANES, SurveyedNode, surveyRuns } from "./survey.ts"

/** Lists the runs of the workspace, newest first. The result is the same as if every journal were read. */
export async function listRuns(config: ResolvedConfig, filter: RunFilter = {}): Promise<RunSummary[]> {
  const { runId, before, metadata = {}, limit = Number.POSITIVE_INFINITY } = filter
  requireJson("metadata", metadata)
  const wanted = { statuses: filter.status === undefined ? undefined : new Set([filter.status].flat()), metadata }
  const nodes = runId === undefined ? await surveyRuns(config) : await nodesOf(config, runId)
  const list = new RunList(config, nodes)
  await list.read(nodes.filter(({ startedAt, isRemoved }) => startedAt === undefined && !isRemoved))
  const position = typeof before === "string" ? await list.newestOf(before) : before
  for (;;) {
    const page = await list.page(position, limit, wanted)
    if (page) return page
  }
}

/** Nodes of runs that may be active, or were released: all except those known to wait or to have ended. A paused entry is verified first. */
export async function openNodes(config: ResolvedConfig): Promise<readonly SurveyedNode[]> {
  const open: SurveyedNode[] = []
  await inLanes(await surveyRuns(config), LANES, async (node) => {
    const { key, released, isOpen } = node
    if (!isOpen && released?.status !== "paused") return
    const kept = released ? await keptSummary(config, key, released).catch(ifDamaged) : null
    if (isOpen || kept === null || kept.pause === "released") open.push(node)
  })
  return open
}

/** Nodes of runs that may have pending webhook deliveries. */
export async function nodesWithDeliveries(config: ResolvedConfig): Promise<readonly SurveyedNode[]> {
  return (await surveyRuns(config)).filter(({ isOpen, released }) => isOpen || released?.owes)
}

/** Returns null for a journal that is damaged, and rejects if the store is unavailable. */
export function ifDamaged(error: unknown): null {
  if (isDamage(error)) return null
  throw error
}

/** True if the journal of one run cannot be read, now or later. */
function isDamage(error: unknown): boolean {
  return LonghaulError.is(error) && error.code === "storage" && !error.retryable
}

/** Reads the run of a node from its journal, and corrects its index entries. */
export async function readNode(config: ResolvedConfig, node: SurveyedNode): Promise<FoundRun | null> {
  const row = await readRunRow(config, node.key)
  await correctEntries(config, node, row)
  return row.found
}

/** The nodes of one run. They are few, so they are listed without the index. */
async function nodesOf({ store, workspaceId }: ResolvedConfig, runId: string): Promise<SurveyedNode[]> {
  const names = await store.list(nodesPath(workspaceId, checkedId("runId", runId)))
  return names.filter(isId).map((nodeId) => new SurveyedNode({ workspaceId, runId, nodeId }))
}

/** A sorted list of runs that reads each run only when a page reaches it. */
class RunList {
  readonly #config: ResolvedConfig
  readonly #nodes: readonly SurveyedNode[]
  readonly #read = new Map<SurveyedNode, RunSummary | null>()

  constructor(config: ResolvedConfig, nodes: readonly SurveyedNode[]) {
    this.#config = config
    this.#nodes = nodes
  }

  /** Returns undefined if a run's journal contradicts the position in its entry: the caller must request the page again. */
  async page(position: RunPosition | undefined, limit: number, wanted: Wanted): Promise<RunSummary[] | undefined> {
    const order = this.#nodes
      .filter((node) => mayBe(node, wanted.statuses) && (position === undefined || isBehind(node, position)))
      .sort(byPlace)
    const page: RunSummary[] = []
    for (let from = 0; from < order.length && page.length < limit; ) {
      const batch = order.slice(from, from + Math.min(MAX_BATCH_SIZE, limit - page.length))
      if (await this.read(batch)) return undefined
      for (const node of batch) {
        const summary = this.#read.get(node)
        if (summary && isWanted(summary, wanted)) page.push(summary)
      }
      from += batch.length
    }
    return page
  }

  /** Returns true if the position of a run has changed. */
  async read(nodes: readonly SurveyedNode[]): Promise<boolean> {
    let moved = false
    const unread = nodes.filter((node) => !this.#read.has(node))
    await inLanes(unread, LANES, async (node) => {
      const summary = await readSummary(this.#config, node).catch((error: unknown) => summaryWithout(node, error))
      this.#read.set(node, summary)
      if (summary === null || indexedTime(summary.startedAt) === node.startedAt) return
      node.beganAt(summary.startedAt)
      moved = true
    })
    return moved
  }

  async newestOf(runId: string): Promise<RunPosition | undefined> {
    const nodes = this.#nodes.filter(({ key }) => key.runId === runId)
    await this.read(nodes)
    const [newest] = nodes.filter((node) => this.#read.get(node)).sort(byPlace)
    return newest && { ...newest.key, startedAt: newest.startedAt ?? 0 }
  }
}

const MAX_BATCH_SIZE = 64

interface Wanted {
  readonly statuses: ReadonlySet<RunSummary["status"]> | undefined
  readonly metadata: JsonObject
}

function isWanted({ status, metadata = {} }: RunSummary, wanted: Wanted): boolean {
  if (wanted.statuses && !wanted.statuses.has(status)) return false
  return Object.entries(wanted.metadata).every(
    ([name, value]) => Object.hasOwn(metadata, name) && canonicalJson(metadata[name] ?? null) === canonicalJson(value),
  )
}

function mayBe(node: SurveyedNode, wanted: ReadonlySet<RunSummary["status"]> | undefined): boolean {
  if (node.startedAt === undefined) return false
  if (wanted === undefined || node.released === undefined) return true
  const { status } = node.released
  return wanted.has(status) || (status === "paused" && wanted.has("running"))
}

function byPlace(left: SurveyedNode, right: SurveyedNode): number {
  const later = (right.startedAt ?? 0) - (left.startedAt ?? 0)
  if (later !== 0) return later
  return compare(left.key.runId, right.key.runId) || compare(left.key.nodeId, right.key.nodeId)
}

function isBehind({ key, startedAt = 0 }: SurveyedNode, place: RunPosition): boolean {
  const earlier = indexedTime(place.startedAt) - startedAt
  if (earlier !== 0) return earlier > 0
  return (compare(key.runId, place.runId) || compare(key.nodeId, place.nodeId)) > 0
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Returns the summary in the index if no record was written after it, otherwise the summary from the journal. */
async function readSummary(config: ResolvedConfig, node: SurveyedNode): Promise<RunSummary | null> {
  const { key, released } = node
  const kept = released ? await keptSummary(config, key, released) : null
  if (kept) return kept
  const found = await readNode(config, node)
  return found && { ...summaryOf(key, found.projection), ...((await isLost(config, key, found)) && { lost: true }) }
}

/** One run that cannot be read must not hide the others. A store that is unavailable rejects: then nothing is known. */
function summaryWithout({ key, released, startedAt = 0 }: SurveyedNode, error: unknown): RunSummary {
  if (!isDamage(error)) throw error
  const { workspaceId, runId, nodeId } = key
  const status = released?.status ?? "running"
  return { workspaceId, runId, nodeId, status, damaged: true, task: "", turns: 0, startedAt, updatedAt: startedAt }
}

async function keptSummary(config: ResolvedConfig, key: RunKey, entry: ReleasedEntry): Promise<RunSummary | null> {
  const bytes = await config.store.folder(indexPath(key.workspaceId)).read(entryName(entry))
  const kept = bytes && decodeSummary(bytes, entry)
  // Older versions wrote no workspace and no metadata.
  if (kept?.summary.workspaceId !== key.workspaceId) return null
  return kept && (await isLast(config, key, entry.shards - 1, kept.bytes)) ? kept.summary : null
}

/** True if the row ends with this shard and the shard has exactly this many bytes. */
async function isLast({ store }: ResolvedConfig, key: RunKey, shard: number, bytes: number): Promise<boolean> {
  const path = runPath(key)
  const folder = store.folder(path)
  const [own, next] = [shardName(shard), shardName(shard + 1)]
  // Reading starts at the last byte, so a shard that became shorter is detected too.
  const rest = await folder.append?.readFrom(own, bytes - 1)
  if (folder.append) return rest?.length === 1 && !(await folder.exists(next))
  // From a million shards on, names do not sort by shard number.
  if (next.length > shardName(0).length) return (await folder.exists(own)) && !(await folder.exists(next))
  // A single request checks both names.
  const part = { limit: 2, ...(shard > 0 && { after: shardName(shard - 1) }) }
  const [first, second] = partOf(await store.list(path, part), part)
  return first === own && second !== next
}

async function correctEntries(config: ResolvedConfig, node: SurveyedNode, row: FoundRow): Promise<void> {
  const { key, names, mayEnter } = node
  if (row.found) {
    if (mayEnter) await enterFound(config, key, row.found, names)
  } else if (row.isRemoved) {
    if (mayEnter) await enterRemoved(config, key, names)
  } else if (row.top === -1 && isLongAgo(node)) {
    await deleteEntries(config, key, names)
  }
}

/** An entry this old without a journal belongs to a run that never started. If it does start, a listing still finds it. */
function isLongAgo({ startedAt }: SurveyedNode): boolean {
  return startedAt !== undefined && Date.now() - startedAt > GHOST_MS
}

const GHOST_MS = 3_600_000
