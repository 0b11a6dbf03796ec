import type { Usage } from "../contract/result.ts"

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/** Of a request whose provider reported nothing. */
export const unknownUsage: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: null,
}

/** An unknown bucket makes the sum unknown. */
export function addUsage(sum: Usage, more: Usage): Usage {
  return {
    inputTokens: add(sum.inputTokens, more.inputTokens),
    outputTokens: add(sum.outputTokens, more.outputTokens),
    cacheReadTokens: add(sum.cacheReadTokens, more.cacheReadTokens),
    cacheWriteTokens: add(sum.cacheWriteTokens, more.cacheWriteTokens),
    costUsd: add(sum.costUsd, more.costUsd),
  }
}

/** Null if a relevant bucket is not reported. */
export function totalTokens(usage: Usage): number | null {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  if (inputTokens === null || outputTokens === null) return null
  return inputTokens + outputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
}

/** The tokens of a request without its answer; null if they are not reported. */
export function contextTokens({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number | null {
  return inputTokens === null ? null : inputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
}

function add(sum: number | null, more: number | null): number | null {
  return sum === null || more === null ? null : sum + more
}
