import type { JsonObject } from "../../contract/json.ts"
import type { Effort } from "../../contract/model-settings.ts"

/** What a generation of models takes. */
export interface Family {
  /** Whether answers can be held to a schema while there are tools. */
  readonly combinesSchemaAndTools: boolean
  /** Whether a call that comes back without its signature is refused. */
  readonly wantsSignatures: boolean
  /** Whether a function's response can hold images and documents itself. */
  readonly mediaInResponses: boolean
  /** What it writes at most where a request does not say. */
  readonly maxOutputTokens?: number
  /** How it is told to think; absent: it cannot be told. */
  thinking?(model: string, effort: Effort): JsonObject
}

export function familyOf(model: string): Family {
  const [, version] = /gemini-(\d+(?:\.\d+)?)/.exec(model) ?? []
  if (version === undefined) return /gemini-.*latest/.test(model) ? budgeted : plain
  if (Number(version) >= 3) return levelled
  return Number(version) >= 2.5 ? budgeted : plain
}

const plain: Family = { combinesSchemaAndTools: false, wantsSignatures: false, mediaInResponses: false }

/** Names that end in `latest` count here: they may mean any generation, and every one still takes a budget. */
const budgeted: Family = {
  combinesSchemaAndTools: false,
  wantsSignatures: false,
  mediaInResponses: false,
  maxOutputTokens: 65_536,
  thinking: (model, effort) => ({ thinkingBudget: budgetOf(model, effort) }),
}

const levelled: Family = {
  combinesSchemaAndTools: true,
  wantsSignatures: true,
  mediaInResponses: true,
  maxOutputTokens: 65_536,
  thinking: (model, effort) => ({
    // The first of them knows two levels only.
    thinkingLevel: effort === "medium" && /gemini-3-pro/.test(model) ? "high" : levels[effort],
  }),
}

/** The levels that all of them know: few have a `minimal`, and none has more than `high`. */
const levels: Readonly<Record<Effort, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  max: "high",
}

/** Pro cannot stop thinking and may think longer than the others. */
function budgetOf(model: string, effort: Effort): number {
  const isPro = model.includes("pro")
  if (effort === "minimal") return isPro ? 128 : 0
  if (effort === "max") return isPro ? 32_768 : 24_576
  return budgets[effort]
}

const budgets = { low: 2048, medium: 8192, high: 16_384 } as const
