import { LonghaulError } from "../../contract/error.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { RunKey } from "../../contract/store.ts"
import { type Command, commonOptions, noPositionals, parseCommandLine, storeOption, UsageError } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { type CostRow, type CostSum, createCostSum, type Grouping, groupings } from "../cost-sum.ts"
import { counted, dollars, failureLines, localTime, modelLabel, visible } from "../format.ts"
import type { Output } from "../output.ts"
import { type OpenStore, openStore } from "../read-store.ts"
import { timeOf } from "../time-span.ts"

const options = {
  since: { type: "string", value: "<when>", help: "A day such as 2031-04-19, or a time span up to now: 24h, 7d, 4w." },
  by: { type: "string", value: "<what>", values: groupings, help: "Group by model, day or run. Default: model." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Sum up the cost of runs.",
  usage: "[options]",
  options,
  notes: [
    "A model call counts at the time of its response; a call without a response does not count.",
    "A call with an unknown price is listed as unpriced, not as free. Exit code 1: a run could not be read.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("cost", args, options)
    noPositionals("cost", positionals)
    const by = groupingOf(values.by ?? "model")
    const since = values.since === undefined ? undefined : timeOf("since", values.since, Date.now())
    const opened = await openStore(values, output)
    const sum = createCostSum(by, since)
    const unreadable: string[] = []
    for await (const { id, records } of readRuns(opened)) {
      if (LonghaulError.is(records)) {
        unreadable.push(id)
        for (const line of failureLines(records.toJSON(), output.errorColours)) output.complain(line)
      } else sum.addRun({ id, records })
    }
    if (values.json) {
      const rows = sum.rows().map(([key, row]) => ({ [by]: key, ...row }))
      output.printJson({ by, since: since ?? null, rows, total: sum.total(), unreadable })
    } else {
      const { location } = opened.store
      printTable(sum, by, since === undefined ? location : `${location} since ${localTime(since)}`, output)
    }
    return unreadable.length > 0 ? 1 : 0
  },
}

/**
 * One run at a time, because a store may hold more than fits in memory. The exchanges of a conversation count as one
 * run.
 */
async function* readRuns({
  store,
  workspaceId,
}: OpenStore): AsyncGenerator<{ readonly id: string; readonly records: readonly RunRecord[] | LonghaulError }> {
  const { AGENTS, agentKey, nodesPath, projectsPath, runPath } = await import("../../journal/paths.ts")
  const { createReader, isVoidClaim } = await import("../../journal/reader.ts")
  const { isDead } = await import("../../hosts/node/owner.ts")
  const { isId } = await import("../../lib/id.ts")
  const recordsOfTree = async (key: RunKey): Promise<readonly RunRecord[]> => {
    const folder = store.folder(runPath(key))
    const own = await createReader(folder, (_, taking) => isVoidClaim(folder, taking, isDead)).next()
    const agents = (await store.list(`${runPath(key)}/${AGENTS}`)).filter(isId)
    const below = await Promise.all(agents.map((agentId) => recordsOfTree(agentKey(key, agentId))))
    return [...own, ...below.flat()]
  }
  for (const runId of (await store.list(projectsPath(workspaceId))).filter(isId)) {
    const nodes = new Map<string, readonly RunRecord[]>()
    for (const nodeId of (await store.list(nodesPath(workspaceId, runId))).filter(isId)) {
      try {
        nodes.set(nodeId, await recordsOfTree({ workspaceId, runId, nodeId }))
      } catch (error) {
        if (!LonghaulError.is(error)) throw error
        yield { id: nodeId === "main" ? runId : `${runId}/${nodeId}`, records: error }
      }
    }
    for (const first of new Set(Array.from(nodes.keys(), (nodeId) => firstOf(nodeId, nodes)))) {
      const exchanges = Array.from(nodes).filter(([nodeId]) => firstOf(nodeId, nodes) === first)
      yield { id: first === "main" ? runId : `${runId}/${first}`, records: exchanges.flatMap(([, records]) => records) }
    }
  }
}

/** The first exchange of the conversation that a node belongs to. */
function firstOf(nodeId: string, nodes: ReadonlyMap<string, readonly RunRecord[]>): string {
  let first = nodeId
  for (let step = 0; step < nodes.size; step++) {
    const start = nodes.get(first)?.[0]
    if (start?.type !== "run-start" || start.continues === undefined || !nodes.has(start.continues)) break
    first = start.continues
  }
  return first
}

function groupingOf(given: string): Grouping {
  const known = groupings.find((name) => name === given)
  if (known !== undefined) return known
  throw new UsageError(`Invalid value for --by: ${JSON.stringify(given)}.`, `Use one of: ${groupings.join(", ")}.`)
}

function printTable(sum: CostSum, by: Grouping, where: string, output: Output): void {
  const rows = sum.rows()
  if (rows.length === 0) {
    output.print(`No run in ${where} has called a model.`)
    return
  }
  const { colours } = output
  const head = [by, "runs", "turns", "input", "output", "cache read", "cache write", "cost"]
  const cells = rows.map(([key, row]) => [by === "model" ? modelLabel(key) : visible(key), ...cellsOf(row)])
  const last = ["total", ...cellsOf(sum.total())]
  const widths = head.map((name, column) =>
    Math.max(name.length, ...[...cells, last].map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
  output.print(colours.dim(line(head)))
  for (const row of cells) output.print(line(row))
  if (rows.length > 1) output.print(colours.bold(line(last)))
}

function cellsOf({ runs, turns, unpricedCalls, ...usage }: CostRow): readonly string[] {
  const buckets = [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens]
  const unpriced = unpricedCalls === 0 || usage.costUsd === null ? "" : ` + ${counted(unpricedCalls, "unpriced call")}`
  return [
    String(runs),
    String(turns),
    ...buckets.map((count) => String(count ?? "unknown")),
    `${dollars(usage.costUsd)}${unpriced}`,
  ]
}
