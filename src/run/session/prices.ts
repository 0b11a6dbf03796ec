import type { Stop } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Pricing } from "../../contract/pricing.ts"
import { noUsage } from "../../lib/usage.ts"
import { costOf } from "../../observe/price.ts"
import { priceUnknown } from "../../settings/config/pricing.ts"
import type { OpenRun } from "../state/open-run.ts"
import { limitStop, type Prices } from "./host.ts"

/** The prices of a session. */
export async function pricesOf(run: OpenRun): Promise<Prices> {
  const model = await pricingOf(run)
  const { compaction } = run.input
  const own = compaction === false ? undefined : compaction.model
  return { model, summaries: own ? await run.config.prices(own) : model }
}

/** The price of the model. A dollar limit has no effect without one, so it is rejected or reported. */
async function pricingOf({ config, ledger, target, journal }: OpenRun): Promise<Pricing | null> {
  const { model, modelName, backend } = target
  const pricing = await config.prices(model ?? { provider: backend.capabilities.provider, id: modelName ?? "" })
  if (pricing !== null || !ledger.limitsDollars || backend.capabilities.reportsCost) return pricing
  const problem = priceUnknown(modelName ?? "the model")
  if (config.unknownPrice === "refuse") throw problem
  journal.append({ type: "warning", code: "price_unknown", message: problem.message })
  return null
}

/**
 * Counts the usage of earlier sessions whose programs died before they reported its cost. Returns a stop if the price is not
 * known: the run could spend any amount, one crash after another.
 */
export async function countUnpriced({ config, ledger, target, projection }: OpenRun): Promise<Stop | undefined> {
  const { unpriced } = projection.spent
  if (!ledger.limitsDollars) return undefined
  const { name, capabilities } = target.backend
  for (const [model, usage] of unpriced) {
    const pricing = await config.prices({ provider: capabilities.provider, id: model })
    const costUsd = pricing && costOf(usage, pricing)
    if (costUsd === null && config.unknownPrice === "refuse") return limitStop(unknownCost(name, model))
    ledger.spend({ ...noUsage, costUsd })
    unpriced.delete(model)
  }
  return undefined
}

function unknownCost(backend: string, model: string): LonghaulError {
  const which = model === "" ? "a model that is not known" : model
  return new LonghaulError(
    "budget_exceeded",
    `An earlier session of ${backend} ended before it reported what ${which} had cost.`,
    {
      fix: 'Return its price from resolvePricing, omit limits.usd, or set unknownPrice: "warn".',
    },
  )
}
