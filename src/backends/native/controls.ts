import type { InterruptMode } from "../../contract/session.ts"
import { Aborter } from "../../lib/abort.ts"

/** How a session is told to stop, and what it is told meanwhile. */
export class Controls {
  readonly #immediate = new Aborter()
  /** Only where somebody waits for it. */
  #halt: Aborter | undefined
  #stopping = false
  /** Null: nothing more can be said. */
  #steers: string[] | null = []

  /** No other step may begin. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Aborts when nothing may be waited for any more. */
  get halting(): AbortSignal {
    this.#halt ??= new Aborter()
    if (this.#stopping) this.#halt.abort(reason)
    return this.#halt.signal
  }

  /** Aborts when the model call itself must stop. */
  get signal(): AbortSignal {
    return this.#immediate.signal
  }

  interrupt(mode: InterruptMode): void {
    // Where nothing more can be said, nothing is left to stop.
    if (this.#steers === null) return
    this.#stopping = true
    this.#halt?.abort(reason)
    if (mode === "immediate") this.#immediate.abort(reason)
  }

  /** False: nothing more will be asked. */
  steer(text: string): boolean {
    if (this.#stopping) return false
    return this.#steers !== null && this.#steers.push(text) > 0
  }

  /** What was said since the last time, in order. Where nothing was and the work is done, nothing more can be said. */
  takeSteers(done: boolean): readonly string[] | "closed" {
    const taken = this.#steers
    if (taken === null) return "closed"
    if (taken.length > 0) this.#steers = []
    else if (done) this.#steers = null
    return this.#steers === null ? "closed" : taken
  }

  /** What is left where the session is over, and from then on nothing can be said. */
  unheard(): readonly string[] {
    const left = this.#steers ?? []
    this.#steers = null
    return left
  }
}

/** Said outright: the default reason is an exception with a stack, made anew each time. */
const reason = "The session was interrupted."
