import type { Semaphore } from "../../lib/semaphore.ts"

/** The slot of a working agent. */
export class Slot {
  readonly #slots: Semaphore
  readonly #halting: AbortSignal
  #free: (() => void) | undefined
  #waits = 0

  constructor(slots: Semaphore, halting: AbortSignal) {
    this.#slots = slots
    this.#halting = halting
  }

  async take(): Promise<void> {
    this.#free = await this.#slots.take(this.#halting)
  }

  free(): void {
    this.#free?.()
    this.#free = undefined
  }

  /** Frees the slot while the agent only waits for agents of its own, which would otherwise wait for it. */
  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#waits++ === 0) this.free()
    try {
      return await work()
    } finally {
      if (--this.#waits === 0) await this.take()
    }
  }
}
