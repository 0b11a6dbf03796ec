import type { Failure } from "../contract/error.ts"

export interface RetryPolicy {
  /** How often a call is tried at most. */
  readonly attempts: number
  /** The first wait; doubles with each attempt, up to `longestMs`. */
  readonly firstMs: number
  readonly longestMs: number
}

/** The attempts at one call. */
export interface Retry {
  /** How many have failed. */
  readonly attempt: number
  /** How long to wait before the next attempt, or null to give up. */
  delayAfter(failure: Failure): number | null
}

export const defaultRetry: RetryPolicy = { attempts: 6, firstMs: 500, longestMs: 30_000 }

/** A provider that says so many times in a row that it is overloaded is left alone. */
const CONSECUTIVE_OVERLOADS = 5
/** Longer than this is for a caller to wait, not for an open run. */
const LONGEST_ASKED_MS = 120_000

/**
 * Decides after each failure of one call whether and when to try again. The only retry layer: transports and
 * conversations below it never repeat a call.
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
      if (failure.retryAfterMs !== undefined)
        return failure.retryAfterMs <= LONGEST_ASKED_MS ? failure.retryAfterMs : null
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
