import type { InterruptMode } from "../../contract/session.ts"
import { Aborter } from "../../lib/abort.ts"

/** Interrupts and steering messages of a session. */
export class Controls {
  readonly #immediate = new Aborter()
  /** Created only if a caller waits for it. */
  #halt: Aborter | undefined
  #stopping = false
  /** Null: no more messages are accepted. */
  #steers: string[] | null = []

  /** No further step may start. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Aborts when nothing may be awaited any more. */
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
    // Once no more messages are accepted, nothing is left to stop.
    if (this.#steers === null) return
    this.#stopping = true
    this.#halt?.abort(reason)
    if (mode === "immediate") this.#immediate.abort(reason)
  }

  /** False: no further model call will be made. */
  steer(text: string): boolean {
    if (this.#stopping) return false
    return this.#steers !== null && this.#steers.push(text) > 0
  }

  /** Messages since the last call, in order. If there are none and the work is done, no more are accepted. */
  takeSteers(done: boolean): readonly string[] | "closed" {
    const taken = this.#steers
    if (taken === null) return "closed"
    if (taken.length > 0) this.#steers = []
    else if (done) this.#steers = null
    return this.#steers === null ? "closed" : taken
  }

  /** Remaining messages at the end of the session; no more are accepted afterwards. */
  undelivered(): readonly string[] {
    const left = this.#steers ?? []
    this.#steers = null
    return left
  }
}

/** Passed explicitly: the default reason is a new exception with a stack each time. */
const reason = "The session was interrupted."
