import { expect, test } from "vitest"
import type { JsonObject } from "../../contract/json.ts"
import { usageOf } from "./usage.ts"

/** In each server's format; the buckets were computed manually. */
const reports: readonly [name: string, report: JsonObject, buckets: readonly (number | null)[]][] = [
  [
    "OpenAI Chat: cache, reasoning and a tool call",
    {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 192, audio_tokens: 0 },
    },
    [86, 300, 1920, 0, null],
  ],
  [
    "OpenAI Chat: an image",
    {
      prompt_tokens: 1118,
      completion_tokens: 46,
      total_tokens: 1164,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    [1118, 46, 0, 0, null],
  ],
  [
    "OpenAI Responses: cache and a tool call",
    {
      input_tokens: 15_518,
      input_tokens_details: { cached_tokens: 6528 },
      output_tokens: 25,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15_543,
    },
    [8990, 25, 6528, 0, null],
  ],
  [
    "OpenAI Responses: reasoning, and what went into a cache",
    {
      input_tokens: 4096,
      input_tokens_details: { cached_tokens: 1024, cache_write_tokens: 2048 },
      output_tokens: 1210,
      output_tokens_details: { reasoning_tokens: 1152 },
      total_tokens: 5306,
    },
    [1024, 1210, 1024, 2048, null],
  ],
  [
    "OpenRouter: with its price",
    {
      prompt_tokens: 194,
      completion_tokens: 2,
      total_tokens: 196,
      cost: 0.00095,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 },
      cost_details: { upstream_inference_cost: null },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    [94, 2, 0, 100, 0.00095],
  ],
  [
    "DeepSeek: its own word for the cache",
    {
      prompt_tokens: 100,
      completion_tokens: 40,
      total_tokens: 140,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
    },
    [36, 40, 64, 0, null],
  ],
  ["Ollama: no word of a cache", { prompt_tokens: 26, completion_tokens: 10, total_tokens: 36 }, [26, 10, 0, 0, null]],
]

test.each(reports)("the usage of a report is counted: %s", (_, report, buckets) => {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = usageOf(report)
  expect([inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd]).toEqual(buckets)
  const sum = Number(inputTokens) + Number(outputTokens) + Number(cacheReadTokens) + Number(cacheWriteTokens)
  expect(sum).toBe(report.total_tokens)
})

test("a cached count above the total input does not make usage negative", () => {
  const report = { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 12 } }
  expect(usageOf(report)).toMatchObject({ inputTokens: 0, cacheReadTokens: 12 })
})
