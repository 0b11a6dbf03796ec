import type { InterruptMode } from "../../contract/backend.ts"

/** How a session is told to stop. */
export interface Controls {
  /** The current step finishes, no other begins. */
  readonly stopping: boolean
  /** Aborts when the model call itself must stop. */
  readonly signal: AbortSignal
  interrupt(mode: InterruptMode): void
}

export function createControls(): Controls {
  const abort = new AbortController()
  let stopping = false
  return {
    get stopping() {
      return stopping
    },
    signal: abort.signal,
    interrupt(mode) {
      stopping = true
      if (mode === "immediate") abort.abort()
    },
  }
}
