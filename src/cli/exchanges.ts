import type { RunSummary } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { OpenStore } from "./read-store.ts"

/** The exchanges of a conversation as one: the status of the last and the task of the first. */
export interface ConversationSummary extends Omit<RunSummary, "continues"> {
  readonly exchanges: number
}

/** The nodes that a command applies to: the named one, else all exchanges in order. */
export async function exchangesOf(
  { store, workspaceId, runtime }: OpenStore,
  runId: string,
  node: string | undefined,
): Promise<readonly [string, ...string[]]> {
  if (node !== undefined) return [node]
  const { exchangesFrom } = await import("../run/open/conversation.ts")
  const [first, ...later] = await exchangesFrom({ store }, { workspaceId, runId, nodeId: "main" })
  // An exchange that died before its first record left a name and nothing else.
  for (let last = later.at(-1); last !== undefined; last = later.at(-1)) {
    if ((await runtime.status(runId, last)).status !== "not_found") break
    later.pop()
  }
  return [first, ...later]
}

/** The named node, else the last of the conversation: only that one can be active or waiting. */
export async function openExchange(opened: OpenStore, runId: string, node: string | undefined): Promise<string> {
  const nodes = await exchangesOf(opened, runId, node)
  return nodes.at(-1) ?? nodes[0]
}

/** One summary per conversation, the one with the newest exchange first. */
export function conversationsOf(runs: readonly RunSummary[]): readonly ConversationSummary[] {
  return groupsOf(runs).map(summaryOf)
}

/** The same, read page by page: a caller that needs a few does not wait for all. */
export async function* newestConversations({ runs }: Pick<Runtime, "runs">): AsyncGenerator<ConversationSummary> {
  const seen = new Set<string>()
  for (let before: RunSummary | undefined; ; ) {
    const page = await runs({ limit: PAGE, ...(before && { before }) })
    for (const run of page) {
      if (seen.has(keyOf(run))) continue
      // The newest exchange of a conversation comes first; the earlier ones are nodes of the same run.
      const nodes = run.continues === undefined ? [run] : await runs({ runId: run.runId })
      const group = groupsOf(nodes).find(({ exchanges }) => exchanges.some((each) => keyOf(each) === keyOf(run)))
      for (const exchange of group?.exchanges ?? []) seen.add(keyOf(exchange))
      if (group) yield summaryOf(group)
    }
    before = page.at(-1)
    if (before === undefined || page.length < PAGE) return
  }
}

const PAGE = 50

function groupsOf(runs: readonly RunSummary[]): readonly Grouped[] {
  const byKey = new Map(runs.map((run) => [keyOf(run), run]))
  const groups = new Map<string, [RunSummary, ...RunSummary[]]>()
  for (const run of runs) {
    const root = rootOf(run, byKey)
    const group = groups.get(root)
    if (group) group.push(run)
    else groups.set(root, [run])
  }
  return Array.from(groups, ([root, exchanges]) => {
    const continued = new Set(exchanges.map(({ continues }) => continues))
    const first = exchanges.find((run) => keyOf(run) === root) ?? exchanges[0]
    const last = exchanges.find(({ nodeId }) => !continued.has(nodeId)) ?? first
    return { first, last, exchanges }
  }).sort((left, right) => right.last.startedAt - left.last.startedAt)
}

/** Key of the first exchange. The number of runs bounds the chain, whatever a journal contains. */
function rootOf(run: RunSummary, byKey: ReadonlyMap<string, RunSummary>): string {
  let root = run
  for (let step = 0; step < byKey.size && root.continues !== undefined; step++) {
    const before = byKey.get(keyOf({ runId: run.runId, nodeId: root.continues }))
    if (before === undefined) break
    root = before
  }
  return keyOf(root)
}

interface Grouped {
  readonly first: RunSummary
  readonly last: RunSummary
  readonly exchanges: readonly RunSummary[]
}

function summaryOf({ first, last, exchanges }: Grouped): ConversationSummary {
  return {
    workspaceId: first.workspaceId,
    runId: first.runId,
    nodeId: first.nodeId,
    status: last.status,
    ...(last.lost && { lost: last.lost }),
    ...(last.damaged && { damaged: last.damaged }),
    task: first.task,
    ...(first.metadata && { metadata: first.metadata }),
    turns: exchanges.reduce((sum, { turns }) => sum + turns, 0),
    startedAt: first.startedAt,
    updatedAt: last.updatedAt,
    exchanges: exchanges.length,
  }
}

function keyOf({ runId, nodeId }: Pick<RunSummary, "runId" | "nodeId">): string {
  return `${runId}/${nodeId}`
}
