import type { Json, JsonObject } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import { isJsonObject } from "../../lib/json.ts"
import { count } from "../json.ts"

/** A usage report of either protocol, whose input includes cache reads and writes, in exclusive buckets. */
export function usageOf(report: JsonObject | undefined): Usage {
  if (report === undefined) return unknownUsage
  const input = count(report.input_tokens) ?? count(report.prompt_tokens)
  const details = objectOf(report.input_tokens_details ?? report.prompt_tokens_details)
  // The last two: as DeepSeek and Moonshot spell it.
  const read = count(details.cached_tokens) ?? count(report.prompt_cache_hit_tokens) ?? count(report.cached_tokens) ?? 0
  const written = count(details.cache_write_tokens) ?? 0
  return {
    inputTokens: input === null ? null : Math.max(0, input - read - written),
    outputTokens: count(report.output_tokens) ?? count(report.completion_tokens),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    costUsd: count(report.cost),
  }
}

const unknownUsage: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: null,
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
