import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { calcPrice, type MatchLogic, type ModelInfo, type Provider, waitForUpdate } from "@pydantic/genai-prices"
import { build } from "esbuild"
import { expect, test } from "vitest"
import { priceModule } from "../../scripts/prices.mjs"
import type { Pricing } from "../contract/pricing.ts"
import type { Usage } from "../contract/result.ts"
import { costOf, lookUpPricing } from "./price.ts"

const providers = (await waitForUpdate()) as Provider[]
const now = new Date("2026-08-25T12:00:00Z")

test("the price table matches the installed package: after an update, run node scripts/prices.mjs", async () => {
  expect(readFileSync(new URL("./price-table.ts", import.meta.url), "utf8")).toBe(await priceModule())
})

test("every model of every provider costs what genai-prices reports, at every length and time", async () => {
  const random = seeded(20260825)
  let compared = 0
  let unpriced = 0
  for (const { id: provider, models } of providers) {
    for (const model of models) {
      for (const at of momentsOf(model)) {
        for (const name of namesOf(model)) {
          const pricing = await lookUpPricing(provider, name, at)
          for (const usage of usages(random)) {
            const oracle = calcPrice(inclusive(usage), name, { providerId: provider, timestamp: at })
            const label = `${provider} ${name} ${at.toISOString()} ${JSON.stringify(usage)}`
            if (oracle === null || !pricedByToken(oracle.model_price)) {
              expect(pricing, label).toBeNull()
              unpriced++
            } else {
              const cost = costOf(usage, pricing as Pricing) as number
              expect(Math.abs(cost - oracle.total_price), label).toBeLessThanOrEqual(1e-9 * oracle.total_price)
              compared++
            }
          }
        }
      }
    }
  }
  console.log(`costs compared: ${compared}, without a price: ${unpriced}`)
  expect(compared).toBeGreaterThan(10_000)
})

test.each([
  ["anthropic", "anthropic", "claude-sonnet-4-5"],
  ["openai", "openai", "gpt-4o"],
  ["google", "google", "gemini-2.5-pro"],
  ["groq", "groq", "llama-3.3-70b-versatile"],
  ["mistral", "mistral", "mistral-large-latest"],
  ["deepseek", "deepseek", "deepseek-chat"],
  ["openrouter", "openrouter", "anthropic/claude-sonnet-4.5"],
  ["xai", "x-ai", "grok-4"],
  ["anthropic.messages", "anthropic", "claude-sonnet-4-5"],
  ["openai.responses", "openai", "gpt-4o"],
  ["openai.chat", "openai", "gpt-4o"],
  ["google.generative-ai", "google", "gemini-2.5-pro"],
  ["google.vertex.chat", "google", "gemini-2.5-pro"],
  ["amazon-bedrock", "aws", "amazon.nova-pro-v1:0"],
  ["azure-openai.chat", "azure", "gpt-4o"],
  ["xai.chat", "x-ai", "grok-4"],
  ["mistral.chat", "mistral", "mistral-large-latest"],
  ["deepseek.chat", "deepseek", "deepseek-chat"],
  ["togetherai.chat", "together", "Gryphe/MythoMax-L2-13b"],
  [" Anthropic ", "anthropic", "Claude-Sonnet-4-5"],
])("%s is priced as %s", async (ours, theirs, model) => {
  const pricing = (await lookUpPricing(ours, model, now)) as Pricing
  const usage = { inputTokens: 1000, outputTokens: 500, cacheReadTokens: 200, cacheWriteTokens: 0, costUsd: null }
  const oracle = calcPrice(inclusive(usage), model, { providerId: theirs, timestamp: now })
  expect(costOf(usage, pricing)).toBeCloseTo(oracle?.total_price as number, 12)
  expect(costOf(usage, pricing)).toBeGreaterThan(0)
})

test("a free model costs zero, which differs from an unknown price", async () => {
  const free = providers
    .find(({ id }) => id === "openrouter")
    ?.models.find(({ id, prices }) => id.endsWith(":free") && Object.keys(prices).length === 0)
  expect(await lookUpPricing("openrouter", free?.id as string, now)).toEqual({ input: 0, output: 0 })
})

test.each([
  "ollama",
  "lmstudio",
  "lmstudio.chat",
  "llamacpp",
  "vllm",
  "offline",
  "scripted",
  "simulated",
  "openai-compatible",
  "openai-compatible.chat",
  "nobody",
  "",
])("%j has no prices", async (provider) => {
  expect(await lookUpPricing(provider, "gpt-4o", now)).toBeNull()
})

test("an unknown model has no price", async () => {
  expect(await lookUpPricing("anthropic", "claude-of-tomorrow", now)).toBeNull()
  expect(await lookUpPricing("anthropic", "", now)).toBeNull()
  expect(await lookUpPricing("groq", "whisper-large-v3", now)).toBeNull()
})

const pricing: Pricing = {
  input: { base: 3, tiers: [{ above: 200_000, price: 6 }] },
  output: 15,
  cacheRead: 0.3,
  cacheWrite: 3.75,
}
const usage: Usage = {
  inputTokens: 100_000,
  outputTokens: 10_000,
  cacheReadTokens: 60_000,
  cacheWriteTokens: 40_000,
  costUsd: null,
}

test("the tier of a call depends on its whole input and applies to all its tokens", () => {
  expect(costOf(usage, pricing)).toBeCloseTo(0.3 + 0.15 + 0.018 + 0.15, 12)
  expect(costOf({ ...usage, cacheReadTokens: 60_001 }, pricing)).toBeCloseTo(0.6 + 0.15 + 0.0180003 + 0.15, 12)
})

test("the highest tier that is reached applies, in any order of tiers", () => {
  const tiers = [
    { above: 50, price: 8 },
    { above: 10, price: 4 },
  ]
  const cost = (inputTokens: number) =>
    costOf({ ...usage, inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }, { input: { base: 2, tiers }, output: 0 })
  expect([10, 11, 50, 51].map((tokens) => ((cost(tokens) as number) * 1_000_000) / tokens)).toEqual([2, 4, 4, 8])
})

test("an unreported token count makes the cost unknown", () => {
  for (const bucket of ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]) {
    expect(costOf({ ...usage, [bucket]: null }, pricing), bucket).toBeNull()
  }
})

test("an unreported token count does not matter if it could not change the cost", () => {
  const uncached = { ...usage, cacheReadTokens: null, cacheWriteTokens: null }
  expect(costOf(uncached, { input: 3, output: 15 })).toBeCloseTo(0.3 + 0.15, 12)
  const untold = { ...uncached, inputTokens: null, outputTokens: null }
  expect(costOf(untold, { input: 0, output: 0 })).toBe(0)
})

test("cached tokens without their own price cost the input price", () => {
  expect(costOf(usage, { input: 3, output: 15 })).toBeCloseTo(0.6 + 0.15, 12)
})

test("the first price in a fresh process is reported with its load time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-price-"))
  try {
    await build({
      entryPoints: [fileURLToPath(new URL("./price.ts", import.meta.url))],
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      logLevel: "error",
    })
    const script = `
      const started = performance.now()
      const { lookUpPricing } = await import(${JSON.stringify(join(folder, "price.mjs"))})
      const imported = performance.now()
      const pricing = await lookUpPricing("anthropic", "claude-sonnet-4-5", new Date())
      const found = performance.now()
      await lookUpPricing("openrouter", "no-such-model", new Date())
      const again = performance.now()
      const ms = [imported - started, found - imported, again - found].map((time) => time.toFixed(2))
      console.log(JSON.stringify({ pricing, ms }))`
    const { pricing, ms } = JSON.parse(String(execFileSync(process.execPath, ["--input-type=module", "-e", script])))
    console.log(`ms to import, to find the first price, and to search openrouter in vain: ${ms.join(", ")}`)
    expect(pricing).toEqual(await lookUpPricing("anthropic", "claude-sonnet-4-5", now))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** Their package counts cached tokens as input too. */
function inclusive({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage) {
  const [input, read, write] = [inputTokens ?? 0, cacheReadTokens ?? 0, cacheWriteTokens ?? 0]
  return {
    input_tokens: input + read + write,
    output_tokens: outputTokens ?? 0,
    cache_read_tokens: read,
    cache_write_tokens: write,
  }
}

/** Their package charges nothing for a model paid by the hour or page; for us that is an unknown price. */
function pricedByToken(prices: object): boolean {
  return Object.keys(prices).length === 0 || "input_mtok" in prices
}

/** Short and long, with and without cached tokens. */
function usages(random: (below: number) => number): readonly Usage[] {
  return [1000, 2_000_000].flatMap((length) =>
    [0, length].map((cached) => ({
      inputTokens: random(length),
      outputTokens: random(length),
      cacheReadTokens: cached && random(cached),
      cacheWriteTokens: cached && random(cached),
      costUsd: null,
    })),
  )
}

/** One time, and those around every price change. */
function momentsOf({ prices }: ModelInfo): readonly Date[] {
  if (!Array.isArray(prices)) return [now]
  const changes = prices.flatMap(({ constraint }) => {
    if (constraint === undefined) return []
    if (constraint.type === "start_date") return [Date.parse(constraint.start_date)]
    return [constraint.start_time, constraint.end_time].map((time) => Date.parse(`2026-08-25T${time}`))
  })
  return [now, ...changes.flatMap((time) => [new Date(time - 1), new Date(time)])]
}

/** The model's id, the strings of its rules, and near misses. */
function namesOf({ id, match }: ModelInfo): readonly string[] {
  const leaves = wordsOf(match)
  const around = leaves.flatMap((leaf) => [leaf, leaf.toUpperCase(), `${leaf}-20250514`, `x-${leaf}`])
  return [...new Set([id, `${id}-20250231`, ...around])]
}

function wordsOf(match: MatchLogic): readonly string[] {
  return Object.values(match).flatMap((operand: string | MatchLogic[]) =>
    typeof operand === "string" ? [operand] : operand.flatMap(wordsOf),
  )
}

/** A small Lehmer generator: the same usages each time. */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}
