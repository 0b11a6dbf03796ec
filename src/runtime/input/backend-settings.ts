import type { BackendDeadlines, Selection } from "../../contract/run.ts"
import { checkKeys, keys, LARGEST_LIMIT, oneOf, wholeNumber } from "../../lib/known-keys.ts"
import { allFeatures } from "../backends/select.ts"
import { list } from "./shapes.ts"

const defaultDeadlines: BackendDeadlines = { openMs: 60_000, replyMs: 30_000, stopMs: 3_000, idleMs: 600_000 }

export function resolveDeadlines(given: Partial<BackendDeadlines> | undefined): BackendDeadlines {
  if (given === undefined) return defaultDeadlines
  checkKeys("deadlines", given, deadlineKeys)
  for (const [name, value] of Object.entries(given)) wholeNumber(`deadlines.${name}`, value, LARGEST_LIMIT)
  return { ...defaultDeadlines, ...given }
}

export function checkedSelection(selection: Selection | undefined): Selection {
  if (selection === undefined) return {}
  checkKeys("selection", selection, selectionKeys)
  const { strategy, requires } = selection
  if (strategy !== undefined) oneOf("selection.strategy", strategy, strategies)
  checkFeatures("selection.requires", requires)
  return selection
}

/** Throws for a name that is no feature: a misspelt requirement would never be met, or never be checked. */
export function checkFeatures(name: string, features: unknown): void {
  for (const feature of list(name, features)) oneOf(name, String(feature), allFeatures)
}

const deadlineKeys = keys<BackendDeadlines>()("openMs", "replyMs", "stopMs", "idleMs")
const selectionKeys = keys<Selection>()("strategy", "preferred", "requires")
const strategies = ["capability_match", "cost_optimized", "latency_optimized"] as const
