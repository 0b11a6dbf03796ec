import { LonghaulError } from "../contract/error.ts"
import type { InterruptMode } from "../contract/session.ts"

/** Why a run is being stopped from outside its backend. The first reason stands. */
export type StopCause =
  | { readonly kind: "cancel" }
  | { readonly kind: "timeout"; readonly timeMs: number }
  /** The journal is no longer ours or cannot be written: nothing more can be recorded. */
  | { readonly kind: "lost"; readonly error: LonghaulError }

/** The brakes of one run: the handle, the clock and the journal pull them; the backend and the tools feel them. */
export class RunControls {
  readonly #abort = new AbortController()
  #cause: StopCause | undefined
  #mode: InterruptMode | undefined
  #listener: ((mode: InterruptMode) => void) | undefined

  /** Aborts when running tools must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get cause(): StopCause | undefined {
    return this.#cause
  }

  /** No new tool may start. */
  get stopping(): boolean {
    return this.#mode !== undefined
  }

  /** A second, immediate stop overtakes a graceful one. Answers whether this one changed anything. */
  stop(cause: StopCause, mode: InterruptMode): boolean {
    if (this.#mode === "immediate" || this.#mode === mode) return false
    this.#cause ??= cause
    this.#mode = mode
    this.#listener?.(mode)
    if (mode === "immediate") this.#abort.abort()
    return true
  }

  lose(error: unknown): void {
    const lost = LonghaulError.is(error)
      ? error
      : new LonghaulError("internal", "The journal failed unexpectedly.", { cause: error })
    this.#cause = { kind: "lost", error: lost }
    this.stop(this.#cause, "immediate")
  }

  /** Tells the one who can stop the work, at once if the brakes are on already. */
  onStop(listener: (mode: InterruptMode) => void): void {
    this.#listener = listener
    if (this.#mode) listener(this.#mode)
  }
}
