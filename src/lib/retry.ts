import type { Failure } from "../contract/error.ts"

export interface RetryPolicy {
  /** Maximum number of attempts of a call. */
  readonly attempts: number
  /** The first delay; doubles with each attempt, up to `longestMs`. */
  readonly firstMs: number
  readonly longestMs: number
}

/** The attempts at one call. */
export interface Retry {
  /** Number of failed attempts. */
  readonly attempt: number
  /** Delay before the next attempt, or null to stop. */
  delayAfter(failure: Failure): number | null
}

export const defaultRetry: RetryPolicy = { attempts: 6, firstMs: 500, longestMs: 30_000 }

/** Number of consecutive overload responses after which retries stop. */
const CONSECUTIVE_OVERLOADS = 5
/** A longer delay is up to the caller, not to an open run. */
const MAX_ASKED_MS = 120_000

/**
 * Decides after each failure of a call whether and when to retry. The only retry layer: transports and conversations
 * below it never repeat a call.
 */
export function createRetry(policy: RetryPolicy, random: () => number = Math.random): Retry {
  let attempt = 0
  let overloads = 0
  return {
    get attempt() {
      return attempt
    },
    delayAfter(failure) {
      attempt++
      overloads = failure.code === "overloaded" ? overloads + 1 : 0
      if (!failure.retryable || attempt >= policy.attempts || overloads >= CONSECUTIVE_OVERLOADS) return null
      if (failure.retryAfterMs !== undefined) return failure.retryAfterMs <= MAX_ASKED_MS ? failure.retryAfterMs : null
      const backoff = Math.min(policy.longestMs, policy.firstMs * 2 ** (attempt - 1))
      return Math.round(backoff * (0.5 + random() / 2))
    },
  }
}

/** `Retry-After` in either of its forms, as milliseconds from now. */
export function parseRetryAfter(value: string | undefined, now: number = Date.now()): number | undefined {
  if (value === undefined || value.trim() === "") return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, Math.round(seconds * 1000))
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
