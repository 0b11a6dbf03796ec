import { vi } from "vitest"

export const LONG_LIMIT_MS = 3_600_000

/**
 * Lets a time limit of `LONG_LIMIT_MS` pass when the work says so, not when a clock does: on a busy machine a short limit may be over
 * before the work has begun.
 */
export async function withTimeLimit<Value>(work: (pass: () => void) => Promise<Value>): Promise<Value> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true })
  try {
    return await work(() => void vi.advanceTimersByTime(LONG_LIMIT_MS))
  } finally {
    vi.useRealTimers()
  }
}
