import type { Ephemeral, RunEvent, RunRecord } from "../../contract/event.ts"
import { published } from "../../journal/published.ts"
import { containPromise } from "../../lib/contained.ts"

export interface Listener {
  /** True: it also receives events that are not recorded. */
  readonly deltas: boolean
  /** May return a promise, but no caller waits for it. */
  receive(event: RunEvent): unknown
}

/**
 * Passes the events of a run to its listeners, in order: a record once it is durable, an ephemeral event once every record
 * before it is. A listener that throws or rejects is contained: it must not harm the run or another listener.
 */
export class Publisher {
  #listeners: readonly Listener[]
  #hasDeltas = false
  /** Ephemeral events that wait until the record before them is durable. */
  #held: { readonly after: number; readonly event: Ephemeral }[] = []
  /** For the events of an agent: those of the run, whose listeners receive them. */
  readonly #root: Publisher | undefined

  constructor(listeners: readonly Listener[], root?: Publisher) {
    this.#listeners = listeners
    this.#hasDeltas = listeners.some(({ deltas }) => deltas)
    this.#root = root
  }

  /** True while a listener receives ephemeral events. */
  get hasDeltas(): boolean {
    return this.#root?.hasDeltas ?? this.#hasDeltas
  }

  /** Publishes the events of an agent of the run to the run's listeners, each with the agent's path. */
  forAgent(agent: string): Publisher {
    const root = this.#root ?? this
    return new Publisher([{ deltas: true, receive: (event) => root.#pass({ ...event, agent }) }], root)
  }

  #pass(event: RunEvent): void {
    const isRecord = "seq" in event
    for (const listener of this.#listeners) if (isRecord || listener.deltas) pass(listener, event)
  }

  /** Adds a listener for later events. Returns the function that removes it. */
  subscribe(listener: Listener): () => void {
    this.#setListeners([...this.#listeners, listener])
    return () => this.#setListeners(this.#listeners.filter((other) => other !== listener))
  }

  records(records: readonly RunRecord[]): void {
    if ((this.#root ?? this).#listeners.length === 0) return
    let next = 0
    for (const each of records) {
      const record = published(each)
      for (const listener of this.#listeners) pass(listener, record)
      for (let held = this.#held[next]; held && held.after <= record.seq; held = this.#held[next]) {
        this.#passEphemeral(held.event)
        next++
      }
    }
    if (next > 0) this.#held = this.#held.slice(next)
  }

  /** `after` is the newest record that is not durable yet, or -1. */
  ephemeral(event: Ephemeral, after: number): void {
    if (after === -1) this.#passEphemeral(event)
    else this.#held.push({ after, event })
  }

  #passEphemeral(event: Ephemeral): void {
    for (const listener of this.#listeners) if (listener.deltas) pass(listener, event)
  }

  #setListeners(listeners: readonly Listener[]): void {
    this.#listeners = listeners
    this.#hasDeltas = listeners.some(({ deltas }) => deltas)
    if (!this.#hasDeltas) this.#held = []
  }
}

function pass(listener: Listener, event: RunEvent): void {
  try {
    containPromise(listener.receive(event))
  } catch {
    // A failed listener must not affect the run or other listeners.
  }
}
