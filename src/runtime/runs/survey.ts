import type { RunKey } from "../../contract/store.ts"
import {
  type IndexEntry,
  indexedTime,
  nodeName,
  parseEntry,
  parseMark,
  type ReleasedEntry,
} from "../../journal/index-entries.ts"
import { indexPath, nodesPath, projectsPath } from "../../journal/paths.ts"
import { isId } from "../../lib/id.ts"
import { inLanes } from "./lanes.ts"
import { type Index, MAIN, markNode } from "./run-index.ts"

/** One node of a run, and what names alone say of it. */
export class SurveyedNode {
  readonly key: RunKey
  /** The names of its entries. */
  readonly names: string[] = []
  /** The highest shard at which it was taken again, or -1. */
  taken = -1
  /** False where its run has other nodes that could not be marked: with an entry of its own it would hide them. */
  mayEnter = true
  #isRemoved = false
  #released: ReleasedEntry | undefined
  /** Undefined: no entry says it. Null: its entries do not agree. */
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

  /** Says that the run was removed, and no entry says otherwise. */
  get isRemoved(): boolean {
    return this.#isRemoved && this.#startedAt === undefined
  }

  /** The entry that says that the run is paused or over; undefined where it was taken again since, or where only the journal can say. */
  get released(): ReleasedEntry | undefined {
    return this.#startedAt !== null && this.#released && this.#released.shards > this.taken ? this.#released : undefined
  }

  /** Only its journal says what it is. */
  get isOpen(): boolean {
    return !this.isRemoved && this.released === undefined
  }

  /** When it began, where that is known. */
  get startedAt(): number | undefined {
    return this.#startedAt ?? undefined
  }

  /** Its journal says when it began. */
  beganAt(startedAt: number): void {
    this.#startedAt = indexedTime(startedAt)
  }
}

/** Of two entries of one release that which still owes something counts: too much is looked at, never too little. */
function isNewer(entry: ReleasedEntry, than: ReleasedEntry | undefined): boolean {
  if (than === undefined || entry.shards !== than.shards) return entry.shards > (than?.shards ?? -1)
  return entry.owes
}

/**
 * Every node of every run in the workspace, by names alone. The names of the runs come from where their journals are, so a run
 * whose entries were deleted, or which never had any, is among them: as one of which only its journal can say what it is.
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
    // Other programs leave files of their own in folders; what cannot be a run is none.
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

/** Of a run that has no entry: its nodes are found by listing them, and are marked before it gets one. */
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

/** How many runs are read side by side. */
export const LANES = 16
