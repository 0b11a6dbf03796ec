import type { Ephemeral, RunEvent, RunRecord } from "../contract/event.ts"

export type Listener = (event: RunEvent) => void

/**
 * Tells listeners what happens, in order: a record once it is durable, an ephemeral event once every record before it
 * is. What a listener throws is contained: it must not hurt the run or another listener.
 */
export class Publisher {
  readonly #listeners: readonly Listener[]
  /** Ephemeral events that wait for the record they came after. */
  #held: { readonly after: number; readonly event: Ephemeral }[] = []

  constructor(listeners: readonly Listener[]) {
    this.#listeners = listeners
  }

  get listening(): boolean {
    return this.#listeners.length > 0
  }

  records(records: readonly RunRecord[]): void {
    if (!this.listening) return
    let next = 0
    for (const record of records) {
      this.#tell(record)
      for (let held = this.#held[next]; held && held.after <= record.seq; held = this.#held[next]) {
        this.#tell(held.event)
        next++
      }
    }
    if (next > 0) this.#held = this.#held.slice(next)
  }

  /** `after` is the newest record that is not durable yet, or -1. */
  ephemeral(event: Ephemeral, after: number): void {
    if (after === -1) this.#tell(event)
    else this.#held.push({ after, event })
  }

  #tell(event: RunEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch {
        // A listener's trouble is its own.
      }
    }
  }
}
