import type { Price, Pricing } from "../contract/pricing.ts"
import type { Usage } from "../contract/result.ts"

/**
 * The price of a model at a time, from the included table; null: unknown, which differs from free. `provider` is our
 * name or the AI SDK's, such as `openai.responses`.
 */
export async function lookUpPricing(provider: string, model: string, at: Date): Promise<Pricing | null> {
  const found = await findRow(provider, model)
  const prices = found === undefined ? null : pricesAt(found, at)
  return prices === null ? null : pricingOf(prices)
}

/** The context window of a model, from the same table; null: unknown. */
export async function lookUpContextTokens(provider: string, model: string): Promise<number | null> {
  const name = `${provider}:${model}`
  const known = windows.get(name)
  if (known !== undefined) return known
  const window = (await findRow(provider, model))?.[3] ?? null
  if (windows.size >= MAX_WINDOWS) windows.clear()
  windows.set(name, window)
  return window
}

const windows = new Map<string, number | null>()
const MAX_WINDOWS = 1000

async function findRow(provider: string, model: string): Promise<ModelRow | undefined> {
  // Parsed once, on first use.
  loading ??= import("./price-table.ts").then(({ priceTable }) => JSON.parse(priceTable))
  const providers = await loading
  const known = findProvider(providers, provider.toLowerCase().trim())
  if (known === undefined) return undefined
  const name = model.toLowerCase().trim()
  const dashed = withDashedDate(name)
  return findModel(providers, known, name) ?? (dashed === name ? undefined : findModel(providers, known, dashed))
}

/** The cost of a call by its tokens; null if an unreported bucket makes a difference. */
export function costOf(usage: Usage, pricing: Pricing): number | null {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const whole = (inputTokens ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  const buckets = [
    costOfBucket(inputTokens, pricing.input, whole),
    costOfBucket(outputTokens, pricing.output, whole),
    costOfCache(cacheReadTokens, pricing.cacheRead, pricing.input, whole),
    costOfCache(cacheWriteTokens, pricing.cacheWrite, pricing.input, whole),
  ]
  let total = pricing.perCall ?? 0
  for (const cost of buckets) {
    if (cost === null) return null
    total += cost
  }
  return total
}

function costOfBucket(tokens: number | null, price: Price, whole: number): number | null {
  if (tokens === null) return price === 0 ? 0 : null
  return (priceFor(price, whole) * tokens) / 1_000_000
}

/** Unreported cached tokens are part of the input: without their own price that changes nothing. */
function costOfCache(tokens: number | null, own: Price | undefined, input: Price, whole: number): number | null {
  if (own === undefined) return tokens === null ? 0 : costOfBucket(tokens, input, whole)
  return costOfBucket(tokens, own, whole)
}

function priceFor(price: Price, whole: number): number {
  if (typeof price === "number") return price
  let reached = { above: Number.NEGATIVE_INFINITY, price: price.base }
  for (const tier of price.tiers) if (whole > tier.above && tier.above >= reached.above) reached = tier
  return reached.price
}

/** The rows of price-table.ts, as scripts/prices.mjs writes them. */
type ProviderRow = readonly [id: string, match: Rule | null, fallbacks: readonly string[], models: readonly ModelRow[]]
type ModelRow = readonly [match: Rule, prices: PriceRow | null, later?: readonly DatedRow[], contextTokens?: number]
/** Valid always, from a Unix time in milliseconds on, or between two seconds of the UTC day. */
type DatedRow = readonly [prices: PriceRow | null, from?: number, until?: number]
/** Input, output, cache read, cache write, and dollars per call. Empty: free. */
type PriceRow = readonly [PriceCell?, PriceCell?, PriceCell?, PriceCell?, perCall?: number]
/** A price, or the base price and pairs of a tier's start and its price. */
type PriceCell = number | readonly [base: number, ...tiers: number[]] | null
/** An operator and the value a name is compared with; a list if one of many must match. */
type Rule = string | readonly Rule[] | { readonly and: readonly Rule[] }

let loading: Promise<readonly ProviderRow[]> | undefined

/** Aliases of models that the table lacks. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["togetherai", "together"],
  ["azure-openai", "azure"],
])

function findProvider(providers: readonly ProviderRow[], name: string): ProviderRow | undefined {
  // A service that only uses a vendor's protocol has its own prices.
  if (name.includes("compatible")) return undefined
  const [vendor = name] = name.split(".")
  const id = aliases.get(vendor) ?? vendor
  return (
    providers.find((row) => row[0] === name) ??
    providers.find((row) => row[0] === id) ??
    providers.find(([, match]) => match !== null && (fits(match, name) || fits(match, vendor)))
  )
}

function findModel(providers: readonly ProviderRow[], row: ProviderRow, name: string): ModelRow | undefined {
  const [, , fallbacks, models] = row
  const own = models.find(([match]) => fits(match, name))
  if (own) return own
  for (const id of fallbacks) {
    const found = providers.find((other) => other[0] === id)?.[3].find(([match]) => fits(match, name))
    if (found) return found
  }
  return undefined
}

function fits(rule: Rule, name: string): boolean {
  if (typeof rule !== "string") {
    return "and" in rule ? rule.and.every((each) => fits(each, name)) : rule.some((each) => fits(each, name))
  }
  const operand = rule.slice(1)
  switch (rule[0]) {
    case "=":
      return name === operand
    case "^":
      return name.startsWith(operand)
    case "$":
      return name.endsWith(operand)
    case "~":
      return name.includes(operand)
    default:
      return new RegExp(operand).test(name)
  }
}

/** Some vendors write the date of a model as 20250514, others as 2025-05-14. */
function withDashedDate(name: string): string {
  return name.replace(/-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, (written, year, month, day) => {
    const dashed = `${year}-${month}-${day}`
    // An invalid day becomes another one or none.
    const date = new Date(dashed)
    return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(dashed) ? `-${dashed}` : written
  })
}

function pricesAt([, first, later = []]: ModelRow, at: Date): PriceRow | null {
  const time = at.getTime()
  const secondOfDay = (time % 86_400_000) / 1000
  const row = later.findLast(([, from, until]) => {
    if (from === undefined) return true
    return until === undefined ? time >= from : secondOfDay >= from && secondOfDay < until
  })
  return row ? row[0] : first
}

function pricingOf([input, output, cacheRead, cacheWrite, perCall]: PriceRow): Pricing {
  return {
    input: priceOf(input ?? 0),
    output: priceOf(output ?? 0),
    ...(cacheRead != null && { cacheRead: priceOf(cacheRead) }),
    ...(cacheWrite != null && { cacheWrite: priceOf(cacheWrite) }),
    ...(perCall !== undefined && { perCall }),
  }
}

function priceOf(cell: NonNullable<PriceCell>): Price {
  if (typeof cell === "number") return cell
  const [base, ...pairs] = cell
  const tiers: { above: number; price: number }[] = []
  for (let at = 0; at < pairs.length; at += 2) {
    // Safe: the script that writes the table writes pairs.
    tiers.push({ above: pairs[at] as number, price: pairs[at + 1] as number })
  }
  return { base, tiers }
}
