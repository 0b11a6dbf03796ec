import type { JsonObject } from "../../contract/json.ts"
import type { Effort } from "../../contract/model-settings.ts"

/** Capabilities of a generation of models. */
export interface Family {
  /** True if a schema can be combined with tools. */
  readonly combinesSchemaAndTools: boolean
  /** True if a call sent back without its signature is rejected. */
  readonly wantsSignatures: boolean
  /** True if a function response can contain images and documents itself. */
  readonly mediaInResponses: boolean
  /** Default maximum output. */
  readonly maxOutputTokens?: number
  /** How thinking is configured; absent: not possible. */
  thinking?(model: string, effort: Effort): JsonObject
}

export function familyOf(model: string): Family {
  const [, version] = /gemini-(\d+(?:\.\d+)?)/.exec(model) ?? []
  if (version === undefined) return /gemini-.*latest/.test(model) ? budgeted : plain
  if (Number(version) >= 3) return levelled
  return Number(version) >= 2.5 ? budgeted : plain
}

const plain: Family = { combinesSchemaAndTools: false, wantsSignatures: false, mediaInResponses: false }

/** Names that end in `latest` belong here: they may be any generation, and each still accepts a budget. */
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
    // The first of them supports only two levels.
    thinkingLevel: effort === "medium" && /gemini-3-pro/.test(model) ? "high" : levels[effort],
  }),
}

/** The levels that all of them support: few have a `minimal`, and none has more than `high`. */
const levels: Readonly<Record<Effort, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  max: "high",
}

/** Pro cannot disable thinking and may think longer than the others. */
function budgetOf(model: string, effort: Effort): number {
  const isPro = model.includes("pro")
  if (effort === "minimal") return isPro ? 128 : 0
  if (effort === "max") return isPro ? 32_768 : 24_576
  return budgets[effort]
}

const budgets = { low: 2048, medium: 8192, high: 16_384 } as const
