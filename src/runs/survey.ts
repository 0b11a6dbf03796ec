import type { RunKey } from "../contract/store.ts"
import {
  type IndexEntry,
  indexedTime,
  nodeName,
  parseEntry,
  parseMark,
  type ReleasedEntry,
} from "../journal/index-entries.ts"
import { indexPath, nodesPath, projectsPath } from "../journal/paths.ts"
import { isId } from "../lib/id.ts"
import { inLanes } from "./lanes.ts"
import { type Index, MAIN, markNode } from "./run-index.ts"

/** A node of a run, with the facts that file names alone provide. */
export class SurveyedNode {
  readonly key: RunKey
  /** The names of its index entries. */
  readonly names: string[] = []
  /** The highest shard at which the run was taken again, or -1. */
  taken = -1
  /** False if other nodes of the run could not be marked: an entry for this node would hide them. */
  mayEnter = true
  #isRemoved = false
  #released: ReleasedEntry | undefined
  /** Undefined: no entry contains it. Null: the entries contradict each other. */
  #startedAt: number | null | undefined

  constructor(key: RunKey) {
    this.key = key
  }

  add(name: string, entry: IndexEntry): void {
    this.names.push(name)
    if (entry.kind === "removed") {
      this.#isRemoved = true
      return
    }
    const { startedAt } = entry
    this.#startedAt = this.#startedAt === undefined || this.#startedAt === startedAt ? startedAt : null
    if (entry.kind === "released" && isNewer(entry, this.#released)) this.#released = entry
  }

  /** True if an entry marks the run as removed and no other entry contradicts it. */
  get isRemoved(): boolean {
    return this.#isRemoved && this.#startedAt === undefined
  }

  /** The entry of a paused or ended run; undefined if the run was taken again since, or if its entries contradict each other. */
  get released(): ReleasedEntry | undefined {
    return this.#startedAt !== null && this.#released && this.#released.shards > this.taken ? this.#released : undefined
  }

  /** True if the status of the run is only in its journal. */
  get isOpen(): boolean {
    return !this.isRemoved && this.released === undefined
  }

  /** The start time, if an entry or the journal has provided it. */
  get startedAt(): number | undefined {
    return this.#startedAt ?? undefined
  }

  /** Sets the start time from the journal. */
  beganAt(startedAt: number): void {
    this.#startedAt = indexedTime(startedAt)
  }
}

/** Of two entries of one release, the one with pending deliveries wins: a needless check is better than a missed delivery. */
function isNewer(entry: ReleasedEntry, than: ReleasedEntry | undefined): boolean {
  if (than === undefined || entry.shards !== than.shards) return entry.shards > (than?.shards ?? -1)
  return entry.owes
}

/**
 * Returns every node of every run in the workspace, by listing names only. Runs are listed from the folder of their journals,
 * so a run without index entries is included; its status is then only in its journal.
 */
export async function surveyRuns(index: Index): Promise<readonly SurveyedNode[]> {
  const { store, workspaceId } = index
  const [projects, entries] = await Promise.all([
    store.list(projectsPath(workspaceId)),
    store.list(indexPath(workspaceId)),
  ])
  const nodes = new Map<string, SurveyedNode>()
  const nodeOf = ({ runId, nodeId }: Pick<RunKey, "runId" | "nodeId">): SurveyedNode => {
    const name = nodeName({ runId, nodeId })
    const known = nodes.get(name)
    if (known) return known
    const node = new SurveyedNode({ workspaceId, runId, nodeId })
    nodes.set(name, node)
    return node
  }
  for (const name of entries) {
    const entry = parseEntry(name)
    if (entry) nodeOf(entry).add(name, entry)
  }
  const unknown: SurveyedNode[] = []
  for (const name of projects) {
    if (isId(name)) {
      const main = nodeOf({ runId: name, nodeId: MAIN })
      if (main.names.length === 0) unknown.push(main)
      continue
    }
    // Names that are neither run ids nor marks are files of other programs.
    const mark = parseMark(name)
    if (mark === null) continue
    const node = nodeOf(mark)
    node.taken = Math.max(node.taken, mark.taken ?? -1)
  }
  await inLanes(unknown, LANES, async (main) => {
    const others = await otherNodes(index, main.key)
    for (const key of others) nodeOf(key)
    main.mayEnter = await areMarked(index, others)
  })
  return [...nodes.values()]
}

/** Lists the other nodes of a run without an entry. They must be marked before the run gets one. */
async function otherNodes({ store }: Index, key: RunKey): Promise<readonly RunKey[]> {
  const nodes = await store.list(nodesPath(key.workspaceId, key.runId))
  return nodes.filter((nodeId) => isId(nodeId) && nodeId !== MAIN).map((nodeId) => ({ ...key, nodeId }))
}

async function areMarked(index: Index, keys: readonly RunKey[]): Promise<boolean> {
  try {
    for (const key of keys) await markNode(index, key)
    return true
  } catch {
    return false
  }
}

/** The number of runs that are read concurrently. */
export const LANES = 16
