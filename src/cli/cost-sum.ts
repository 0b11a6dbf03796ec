import type { RunRecord } from "../contract/event.ts"
import type { Usage } from "../contract/result.ts"
import { addUsage, noUsage } from "../lib/usage.ts"
import { localTime } from "./format.ts"

export const groupings = ["model", "day", "run"] as const
export type Grouping = (typeof groupings)[number]

/**
 * Totals of model calls. A token count is null if a call does not report it; dollars are null if no call has a price.
 */
export interface CostRow extends Usage {
  readonly runs: number
  /** Model calls that got a response. */
  readonly turns: number
  /** Not included in `costUsd`. */
  readonly unpricedCalls: number
}

export interface CostSum {
  /** The calls of one run; only totals are kept. */
  addRun(run: { readonly id: string; readonly records: Iterable<RunRecord> }): void
  /** Models by cost, days in order, runs newest first. */
  rows(): readonly (readonly [key: string, row: CostRow])[]
  total(): CostRow
}

export function createCostSum(by: Grouping, since = Number.NEGATIVE_INFINITY): CostSum {
  const groups = new Map<string, Sum>()
  const total = emptySum()

  const groupOf = (key: string) => {
    const known = groups.get(key)
    if (known) return known
    const fresh = emptySum()
    groups.set(key, fresh)
    return fresh
  }

  return {
    addRun({ id, records }) {
      const met = new Set<Sum>()
      // Metered usage without a model belongs to the last one.
      let model = "unknown"
      for (const record of records) {
        if ((record.type !== "usage" && record.type !== "metering") || record.at < since) continue
        if (record.type === "usage") model = record.model
        const key = { model: record.model ?? model, day: localTime(record.at).slice(0, 10), run: id }[by]
        for (const sum of [groupOf(key), total]) {
          met.add(sum)
          addCall(sum, record)
        }
      }
      for (const sum of met) sum.runs++
    },
    rows: () =>
      Array.from(groups)
        .sort(orders[by])
        .map(([key, sum]) => [key, rowOf(sum)] as const),
    total: () => rowOf(total),
  }
}

interface Sum {
  runs: number
  turns: number
  unpriced: number
  usd: number
  tokens: Usage
  lastAt: number
}

function emptySum(): Sum {
  return { runs: 0, turns: 0, unpriced: 0, usd: 0, tokens: noUsage, lastAt: 0 }
}

function addCall(sum: Sum, { type, at, usage }: RunRecord & { readonly type: "usage" | "metering" }): void {
  if (type === "usage") sum.turns++
  sum.tokens = addUsage(sum.tokens, usage)
  sum.lastAt = Math.max(sum.lastAt, at)
  if (usage.costUsd === null) sum.unpriced++
  else sum.usd += usage.costUsd
}

function rowOf({ runs, turns, unpriced, usd, tokens }: Sum): CostRow {
  return { runs, turns, ...tokens, costUsd: turns > 0 && unpriced === turns ? null : usd, unpricedCalls: unpriced }
}

type Order = (left: readonly [string, Sum], right: readonly [string, Sum]) => number

const orders: Readonly<Record<Grouping, Order>> = {
  model: ([leftName, left], [rightName, right]) => right.usd - left.usd || (leftName < rightName ? -1 : 1),
  day: ([left], [right]) => (left < right ? -1 : 1),
  run: ([, left], [, right]) => right.lastAt - left.lastAt,
}
