import type { InterruptMode } from "../../contract/session.ts"

/** How a session is told to stop. */
export interface Controls {
  /** Aborts when no other step may begin, and nothing may be waited for. */
  readonly stopping: AbortSignal
  /** Aborts when the model call itself must stop. */
  readonly signal: AbortSignal
  interrupt(mode: InterruptMode): void
}

export function createControls(): Controls {
  const stopping = new AbortController()
  const immediate = new AbortController()
  return {
    stopping: stopping.signal,
    signal: immediate.signal,
    interrupt(mode) {
      stopping.abort(reason)
      if (mode === "immediate") immediate.abort(reason)
    },
  }
}

/** Said outright: the default reason is an exception with a stack, made anew each time. */
const reason = "The session was interrupted."
