import { UsageError } from "./arguments.ts"

/** A day, a time or a span up to now, as a timestamp. A day begins in the user's time zone. */
export function timeOf(option: string, given: string, now: number): number {
  const [, count, unit = ""] = /^(\d{1,6})([hdw])$/.exec(given) ?? []
  const span = spans[unit]
  if (span !== undefined) return now - Number(count) * span
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(given)
  const time =
    isDay || /^\d{4}-\d{2}-\d{2}[T ]\d/.test(given) ? Date.parse(isDay ? `${given}T00:00` : given) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new UsageError(
    `Invalid value for --${option}: ${JSON.stringify(given)}.`,
    "Use a day such as 2031-04-19, a time such as 2031-04-19T06:30, or a span such as 24h, 7d or 4w.",
  )
}

const hour = 3_600_000
const spans: Readonly<Record<string, number>> = { h: hour, d: 24 * hour, w: 7 * 24 * hour }
