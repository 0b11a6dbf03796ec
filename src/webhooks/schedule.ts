import type { WebhookAttempt } from "../contract/webhook.ts"

/** How long before each attempt: the first is made at once, the others so long after the one before them ended. */
const DELAYS_MS: readonly number[] = [0, 10_000, 60_000, 300_000, 1_800_000]

export const REQUEST_TIMEOUT_MS = 30_000

/** What an answer means. Where none came, it may come later. */
export function meaningOf(httpCode: number): WebhookAttempt["status"] {
  if (httpCode >= 200 && httpCode < 300) return "delivered"
  return httpCode === 408 || httpCode === 429 || httpCode >= 500 ? "retry" : "stopped"
}

/**
 * How long to wait after a failed attempt; null: there is none after it. A receiver that asks for more time gets it, but no
 * more than what the attempt after the next one would wait: the number of attempts is what it is.
 */
export function delayAfter({ attempt, retryAfterMs = 0 }: WebhookAttempt): number | null {
  const delayMs = DELAYS_MS[attempt]
  if (delayMs === undefined) return null
  return Math.max(delayMs, Math.min(retryAfterMs, DELAYS_MS[attempt + 1] ?? delayMs))
}
