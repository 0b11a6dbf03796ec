import { LonghaulError } from "../../contract/error.ts"
import type { InterruptMode } from "../../contract/session.ts"
import { StopSwitch } from "../../lib/stop-switch.ts"
import { SteerQueue, type SteerSource } from "./steer-queue.ts"

/** The reason why a run is stopped from outside its backend. The first one counts. */
export type StopCause =
  /** `onRecord`: the journal already contains the cancel. */
  | { readonly kind: "cancel"; readonly onRecord?: boolean }
  | { readonly kind: "timeout"; readonly timeMs: number }
  /** The journal has another owner or cannot be written: nothing more can be recorded. */
  | { readonly kind: "lost"; readonly error: LonghaulError }

/** Stops, releases and steers one run. Its handle, timer and journal call it; its backend and tools react to it. */
export class RunControls extends StopSwitch {
  readonly steers = new SteerQueue()
  #cause: StopCause | undefined
  #releasing = false
  #onStop: ((mode: InterruptMode) => void) | undefined
  #compact: (() => void) | undefined
  #isCompactAsked = false
  #clock: ReturnType<typeof setTimeout> | undefined
  #onMessage: (() => void) | undefined

  get cause(): StopCause | undefined {
    return this.#cause
  }

  /** True once no further turn may start here. The current turn still finishes with all its calls. */
  get releasing(): boolean {
    return this.#releasing
  }

  /** Returns false if the run was already being stopped in this mode. */
  stop(cause: StopCause, mode: InterruptMode): boolean {
    if (!this.stopping) this.#cause ??= cause
    if (!this.halt(mode)) return false
    this.#onStop?.(mode)
    return true
  }

  /** Returns false if the run is already being stopped or released. */
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

  /** Stops the run once it has taken `timeMs`, unless `stopClock` is called first. `passedMs`: what it took before. */
  startClock(timeMs: number, passedMs: number): void {
    const stop = () => this.stop({ kind: "timeout", timeMs }, "immediate")
    if (passedMs >= timeMs) stop()
    else this.#clock = setTimeout(stop, timeMs - passedMs)
  }

  stopClock(): void {
    clearTimeout(this.#clock)
  }

  /** Returns false if the run no longer accepts messages. */
  steer(text: string, source?: SteerSource): boolean {
    if (this.stopping) return false
    const isTaken = this.steers.add(text, source)
    this.#onMessage?.()
    return isTaken
  }

  /** Sets the listener that is called after each message. */
  onMessage(listener: () => void): void {
    this.#onMessage = listener
  }

  /** Returns false if the run is already being stopped. */
  compact(): boolean {
    if (this.stopping) return false
    if (this.#compact) this.#compact()
    else this.#isCompactAsked = true
    return true
  }

  /** Sets the receiver of requests to compact. An earlier request is passed to it immediately. */
  onCompact(compact: () => void): void {
    this.#compact = compact
    if (this.#isCompactAsked) compact()
    this.#isCompactAsked = false
  }

  /** Sets the listener that stops the work. It is called immediately if the run is already being stopped. */
  onStop(listener: (mode: InterruptMode) => void): void {
    this.#onStop = listener
    if (this.mode) listener(this.mode)
  }
}
