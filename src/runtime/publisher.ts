import type { Ephemeral, RunEvent, RunRecord } from "../contract/event.ts"
import { containPromise } from "../lib/contained.ts"

export interface Listener {
  /** Whether it also hears what is not recorded. */
  readonly deltas: boolean
  /** May return a promise, although it should not: nothing waits for it. */
  hear(event: RunEvent): unknown
}

/**
 * Tells listeners what happens, in order: a record once it is durable, an ephemeral event once every record before it
 * is. A listener that throws or rejects is contained: it must not harm the run or another listener.
 */
export class Publisher {
  readonly #listeners: readonly Listener[]
  /** Somebody hears ephemeral events. */
  readonly hearsDeltas: boolean
  /** Ephemeral events that wait for the record they came after. */
  #held: { readonly after: number; readonly event: Ephemeral }[] = []

  constructor(listeners: readonly Listener[]) {
    this.#listeners = listeners
    this.hearsDeltas = listeners.some(({ deltas }) => deltas)
  }

  records(records: readonly RunRecord[]): void {
    if (this.#listeners.length === 0) return
    let next = 0
    for (const record of records) {
      for (const listener of this.#listeners) tell(listener, record)
      for (let held = this.#held[next]; held && held.after <= record.seq; held = this.#held[next]) {
        this.#tellEphemeral(held.event)
        next++
      }
    }
    if (next > 0) this.#held = this.#held.slice(next)
  }

  /** `after` is the newest record that is not durable yet, or -1. */
  ephemeral(event: Ephemeral, after: number): void {
    if (after === -1) this.#tellEphemeral(event)
    else this.#held.push({ after, event })
  }

  #tellEphemeral(event: Ephemeral): void {
    for (const listener of this.#listeners) if (listener.deltas) tell(listener, event)
  }
}

function tell(listener: Listener, event: RunEvent): void {
  try {
    containPromise(listener.hear(event))
  } catch {
    // A listener's failure is its own.
  }
}
