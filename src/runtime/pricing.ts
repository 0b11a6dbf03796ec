import { LonghaulError } from "../contract/error.ts"
import type { Pricing } from "../contract/pricing.ts"
import type { ModelName, RuntimeConfig } from "../contract/run.ts"
import { lookUpPricing } from "../observe/price.ts"

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
