/**
 * A list that is filled and emptied over and over, in the same memory. An array that grows from nothing takes room for
 * sixteen, and one that waits for something with a handful in it is mostly room.
 */
export class Refilled<T> {
  readonly #items: (T | undefined)[] = []
  #count = 0

  get length(): number {
    return this.#count
  }

  push(item: T): void {
    this.#items[this.#count++] = item
  }

  /** What is in it, in an array of just that size. */
  take(): T[] {
    const taken = this.#items.slice(0, this.#count) as T[]
    // More than a handful is not kept for the next.
    if (this.#count > MOST_KEPT) this.#items.length = 0
    else this.#items.fill(undefined, 0, this.#count)
    this.#count = 0
    return taken
  }
}

const MOST_KEPT = 16
