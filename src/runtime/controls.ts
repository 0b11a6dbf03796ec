import { LonghaulError } from "../contract/error.ts"
import type { InterruptMode } from "../contract/session.ts"
import { StopSwitch } from "../lib/stop-switch.ts"

/** The reason why a run is stopped from outside its backend. The first one counts. */
export type StopCause =
  /** `onRecord`: the journal has it already. */
  | { readonly kind: "cancel"; readonly onRecord?: boolean }
  | { readonly kind: "timeout"; readonly timeMs: number }
  /** The journal has another owner or cannot be written: nothing more can be recorded. */
  | { readonly kind: "lost"; readonly error: LonghaulError }

/** Stops, releases and steers one run: called by its handle, its clock and its journal, obeyed by backend and tools. */
export class RunControls extends StopSwitch {
  #cause: StopCause | undefined
  #releasing = false
  #onStop: ((mode: InterruptMode) => void) | undefined
  #steer: ((text: string) => boolean) | undefined
  #clock: ReturnType<typeof setTimeout> | undefined
  /** Messages that arrived before there was a session to take them. */
  #early: string[] | undefined = []

  get cause(): StopCause | undefined {
    return this.#cause
  }

  /** True once no other turn may begin here, although the one under way finishes with all its calls. */
  get releasing(): boolean {
    return this.#releasing
  }

  /** Returns whether this call changed anything. */
  stop(cause: StopCause, mode: InterruptMode): boolean {
    if (!this.stopping) this.#cause ??= cause
    if (!this.halt(mode)) return false
    this.#onStop?.(mode)
    return true
  }

  /** False: the run is being stopped or released already. */
  release(): boolean {
    if (this.stopping || this.#releasing) return false
    this.#releasing = true
    this.wake()
    return true
  }

  lose(error: unknown): void {
    const lost = LonghaulError.is(error)
      ? error
      : new LonghaulError("internal", "The journal failed unexpectedly.", { cause: error })
    this.#cause = { kind: "lost", error: lost }
    this.stop(this.#cause, "immediate")
  }

  /** Stops the run after `timeMs`, unless `stopClock` is called before. */
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

  /** Sets the receiver of messages. Those that arrived before are passed on at once. */
  onSteer(steer: (text: string) => boolean): void {
    this.#steer = steer
    for (const text of this.#early ?? []) steer(text)
    this.#early = undefined
  }

  /** The run is over: no message is taken any more. */
  end(): void {
    this.#steer = () => false
  }

  /** Sets what stops the work. It is called at once where the run is being stopped already. */
  onStop(listener: (mode: InterruptMode) => void): void {
    this.#onStop = listener
    if (this.mode) listener(this.mode)
  }
}
