import type { InterruptMode } from "../../contract/session.ts"

/** How a session is told to stop. */
export interface Controls {
  /** Aborts when no other step may begin, and nothing may be waited for. */
  readonly stopping: AbortSignal
  /** Aborts when the model call itself must stop. */
  readonly signal: AbortSignal
  interrupt(mode: InterruptMode): void
  /** False: nothing more will be asked. */
  steer(text: string): boolean
  /** What was said since the last time, in order. Where nothing was and the work is done, nothing more can be said. */
  takeSteers(done: boolean): readonly string[] | "none any more"
  /** What is left where the session is over, and from then on nothing can be said. */
  unheard(): readonly string[]
}

export function createControls(): Controls {
  const stopping = new AbortController()
  const immediate = new AbortController()
  let steers: string[] | null = []
  return {
    stopping: stopping.signal,
    signal: immediate.signal,
    interrupt(mode) {
      // Where nothing more can be said, nothing is left to stop.
      if (steers === null) return
      stopping.abort(reason)
      if (mode === "immediate") immediate.abort(reason)
    },
    steer(text) {
      if (stopping.signal.aborted) return false
      return steers !== null && steers.push(text) > 0
    },
    takeSteers(done) {
      const taken = steers
      steers = done && steers?.length === 0 ? null : []
      return steers === null || taken === null ? "none any more" : taken
    },
    unheard() {
      const left = steers ?? []
      steers = null
      return left
    },
  }
}

/** Said outright: the default reason is an exception with a stack, made anew each time. */
const reason = "The session was interrupted."
