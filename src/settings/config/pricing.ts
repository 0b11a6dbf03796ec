import type { TurnBound } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Reserve } from "../../contract/event.ts"
import type { Pricing } from "../../contract/pricing.ts"
import type { Usage } from "../../contract/result.ts"
import type { ModelName, RuntimeConfig } from "../../contract/run.ts"
import { costOf, lookUpPricing } from "../../observe/price.ts"

/** Returns the price of a model; null: unknown. Returns a promise only while the price is not cached. */
export type PriceList = (model: ModelName) => Pricing | null | Promise<Pricing | null>

export function createPriceList(resolvePricing: RuntimeConfig["resolvePricing"]): PriceList {
  const known = new Map<string, { readonly pricing: Pricing | null; readonly until: number }>()
  const underWay = new Map<string, Promise<Pricing | null>>()
  return (model) => {
    const name = `${model.provider}:${model.id}`
    const found = known.get(name)
    if (found && found.until > Date.now()) return found.pricing
    const asked = underWay.get(name)
    if (asked) return asked
    const finding = findPricing(model, resolvePricing)
      .then((pricing) => {
        known.set(name, { pricing, until: Date.now() + FRESH_MS })
        return pricing
      })
      .finally(() => underWay.delete(name))
    underWay.set(name, finding)
    return finding
  }
}

/** Why a dollar limit does not apply to a model. */
export function priceUnknown(model: string): LonghaulError {
  return new LonghaulError("config_invalid", `limits.usd is set, but the price of ${model} is unknown.`, {
    fix: 'Return its price from resolvePricing, or set unknownPrice: "warn" to run without this limit.',
  })
}

/** Some prices depend on the time of day. */
const FRESH_MS = 10 * 60_000

async function findPricing(
  { provider, id }: ModelName,
  resolvePricing: RuntimeConfig["resolvePricing"],
): Promise<Pricing | null> {
  let own: Pricing | null | undefined
  try {
    own = await resolvePricing?.({ provider, id })
  } catch (cause) {
    throw new LonghaulError("config_invalid", `resolvePricing failed for ${provider}:${id}.`, {
      fix: "Return null from resolvePricing for unknown models.",
      cause,
    })
  }
  return own === undefined ? lookUpPricing(provider, id, new Date()) : own
}

/** The most that a call can cost. */
export function boundOf({ inputTokens, outputTokens }: TurnBound, pricing: Pricing | null): Reserve {
  const tokens = inputTokens + outputTokens
  if (pricing === null) return { tokens, usd: null }
  // Cache writes may cost more than input, so the bound is the most expensive way to count the tokens.
  const atMost = (usage: Partial<Usage>) => costOf({ ...nothing, ...usage, outputTokens }, pricing) ?? 0
  return { tokens, usd: Math.max(atMost({ inputTokens }), atMost({ cacheWriteTokens: inputTokens })) }
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null }
