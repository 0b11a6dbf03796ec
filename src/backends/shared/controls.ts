import type { InterruptMode, SteerMessage } from "../../contract/session.ts"
import { StopSwitch } from "../../lib/stop-switch.ts"

/** Stops a session, and holds the messages that arrive while it works. */
export class Controls extends StopSwitch {
  /** Null: the session accepts no further messages. */
  #steers: SteerMessage[] | null = []
  #isCompactAsked = false

  interrupt(mode: InterruptMode): void {
    // A session that accepts no further messages is over: nothing is left to stop.
    if (this.#steers !== null) this.halt(mode)
  }

  /** False: the model will not be asked again. */
  steer(message: SteerMessage): boolean {
    return !this.stopping && this.#steers !== null && this.#steers.push(message) > 0
  }

  askToCompact(): void {
    this.#isCompactAsked = true
  }

  /** True once after the host asked for a compaction. */
  takeCompactRequest(): boolean {
    const isAsked = this.#isCompactAsked
    this.#isCompactAsked = false
    return isAsked
  }

  /** Returns the messages since the last call, in order. If there are none and the work is done, no further ones are accepted. */
  takeSteers(done: boolean): readonly SteerMessage[] | "closed" {
    const taken = this.#steers
    if (taken === null) return "closed"
    if (taken.length > 0) this.#steers = []
    else if (done) this.#steers = null
    return this.#steers === null ? "closed" : taken
  }
}
