// Generates the price table src/observe/price-table.ts from the installed @pydantic/genai-prices. Usage: node
// scripts/prices.mjs
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { waitForUpdate } from "@pydantic/genai-prices"

const target = fileURLToPath(new URL("../src/observe/price-table.ts", import.meta.url))
const manifest = fileURLToPath(new URL("../node_modules/@pydantic/genai-prices/package.json", import.meta.url))

/** The text of the module: one string, which an engine loads faster than object literals. */
export async function priceModule() {
  const { version } = JSON.parse(readFileSync(manifest, "utf8"))
  const table = JSON.stringify((await waitForUpdate()).map(provider))
  const literal = table
    .replace(/[\\']/g, "\\$&")
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return [
    `// Written by scripts/prices.mjs from the data of @pydantic/genai-prices ${version}; read by price.ts.`,
    `export const priceTable: string =\n  '${literal}'\n`,
  ].join("\n")
}

function provider({ id, provider_match: match, fallback_model_providers: fallbacks = [], models }) {
  return [id, match ? rule(match) : null, fallbacks, models.map(model)]
}

/** The first price applies if no later one does; the last one valid at the time wins. */
function model({ match, prices, context_window: context }) {
  const [first, ...later] = Array.isArray(prices) ? prices : [{ prices }]
  const dated = later.map(({ constraint, prices }) => [priceList(prices), ...moment(constraint)])
  const row = [rule(match), priceList(first.prices), dated, context ?? null]
  while (row.length > 2 && (row.at(-1) === null || row.at(-1).length === 0)) row.pop()
  return row
}

const operators = { equals: "=", starts_with: "^", ends_with: "$", contains: "~", regex: "/" }

/** Names are compared in lower case, so all except regular expressions are stored in it. */
function rule(match) {
  const [[operator, operand], ...others] = Object.entries(match)
  if (others.length > 0) throw new Error(`A rule of two parts: ${JSON.stringify(match)}`)
  if (operator === "or") return operand.map(rule)
  if (operator === "and") return { and: operand.map(rule) }
  if (!(operator in operators)) throw new Error(`An unknown rule: ${JSON.stringify(match)}`)
  return operators[operator] + (operator === "regex" ? operand : operand.toLowerCase())
}

/** Empty: always; a start in Unix milliseconds; or two seconds of the UTC day, the second one excluded. */
function moment(constraint) {
  if (!constraint) return []
  if (constraint.type === "start_date") return [Date.parse(constraint.start_date)]
  const [from, until] = [secondOfDay(constraint.start_time), secondOfDay(constraint.end_time)]
  if (until > from) return [from, until]
  throw new Error(`A constraint that price.ts cannot read: ${JSON.stringify(constraint)}`)
}

function secondOfDay(time) {
  const [hours, minutes, seconds] = time.replace(/Z$/, "").split(":").map(Number)
  return hours * 3600 + minutes * 60 + seconds
}

/** Input, output, cache read, cache write, the call itself; null if only non-token units have a price. */
function priceList(prices) {
  const { input_mtok: input, output_mtok: output, cache_read_mtok: read, cache_write_mtok: write } = prices
  const perCall = prices.requests_kcount === undefined ? null : prices.requests_kcount / 1000
  const list = [price(input), price(output), price(read), price(write), perCall]
  while (list.at(-1) === null) list.pop()
  return list.length === 0 && Object.keys(prices).length > 0 ? null : list
}

/** A number, or the base price followed by pairs: a minimum of input tokens and its price. */
function price(given = null) {
  if (given === null || typeof given === "number") return given
  const tiers = given.tiers.toSorted((left, right) => left.start - right.start)
  return [given.base, ...tiers.flatMap(({ start, price }) => [start, price])]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await priceModule()
  writeFileSync(target, text)
  console.log(`${target}: ${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB`)
}
