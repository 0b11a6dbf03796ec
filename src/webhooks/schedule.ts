import type { WebhookAttempt } from "../contract/webhook.ts"

/**
 * Delays before the attempts: the first is made immediately, the others this long after the end of the previous one.
 */
const DELAYS_MS: readonly number[] = [0, 10_000, 60_000, 300_000, 1_800_000]

export const REQUEST_TIMEOUT_MS = 30_000

/** The meaning of a response. Without one, a retry may succeed. */
export function meaningOf(httpCode: number): WebhookAttempt["status"] {
  if (httpCode >= 200 && httpCode < 300) return "delivered"
  return httpCode === 408 || httpCode === 429 || httpCode >= 500 ? "retry" : "stopped"
}

/**
 * Delay after a failed attempt; null: no further attempt. A receiver may ask for more time, up to the following delay
 * of the schedule: the number of attempts is fixed.
 */
export function delayAfter({ attempt, retryAfterMs = 0 }: WebhookAttempt): number | null {
  const delayMs = DELAYS_MS[attempt]
  if (delayMs === undefined) return null
  return Math.max(delayMs, Math.min(retryAfterMs, DELAYS_MS[attempt + 1] ?? delayMs))
}
