import { LonghaulError } from "../contract/error.ts"
import type { InterruptMode } from "../contract/session.ts"
import { Aborter } from "../lib/abort.ts"

/** Why a run is being stopped from outside its backend. The first reason stands. */
export type StopCause =
  /** `onRecord`: the journal says so already. */
  | { readonly kind: "cancel"; readonly onRecord?: boolean }
  | { readonly kind: "timeout"; readonly timeMs: number }
  /** The journal is no longer ours or cannot be written: nothing more can be recorded. */
  | { readonly kind: "lost"; readonly error: LonghaulError }

/** The brakes of one run: the handle, the clock and the journal pull them; the backend and the tools feel them. */
export class RunControls {
  readonly #abort = new Aborter()
  /** Only where somebody waits for it. */
  #halt: Aborter | undefined
  #cause: StopCause | undefined
  #mode: InterruptMode | undefined
  #listener: ((mode: InterruptMode) => void) | undefined
  #steer: ((text: string) => boolean) | undefined
  #clock: ReturnType<typeof setTimeout> | undefined
  /** Said before there was anybody to hear it. */
  #early: string[] | undefined = []

  /** Aborts when running tools must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Aborts when nothing new may begin, whatever the mode. */
  get halting(): AbortSignal {
    this.#halt ??= new Aborter()
    if (this.stopping) this.#halt.abort()
    return this.#halt.signal
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
    this.#halt?.abort()
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

  /** Stops the run after `timeMs`, unless `stopClock` comes first. */
  startClock(timeMs: number): void {
    this.#clock = setTimeout(() => this.stop({ kind: "timeout", timeMs }, "immediate"), timeMs)
  }

  stopClock(): void {
    clearTimeout(this.#clock)
  }

  /** False: it is too late. */
  steer(text: string): boolean {
    if (this.stopping) return false
    if (this.#steer) return this.#steer(text)
    return this.#early !== undefined && this.#early.push(text) > 0
  }

  /** Who hears what is said, from now on. */
  onSteer(steer: (text: string) => boolean): void {
    this.#steer = steer
    for (const text of this.#early ?? []) steer(text)
    this.#early = undefined
  }

  /** The run is over: nothing can be said to it any more. */
  end(): void {
    this.#steer = () => false
  }

  /** Tells the one who can stop the work, at once if the brakes are on already. */
  onStop(listener: (mode: InterruptMode) => void): void {
    this.#listener = listener
    if (this.#mode) listener(this.#mode)
  }
}
