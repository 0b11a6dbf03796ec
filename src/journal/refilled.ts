/**
 * A list that is repeatedly filled and emptied in the same memory. A new array reserves room for sixteen items on its first
 * push, which wastes memory while it holds only a few.
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

  /** Empties the list and returns its items in an array of exact size. */
  take(): T[] {
    // Safe: the first `count` places are filled.
    const taken = this.#items.slice(0, this.#count) as T[]
    // A large buffer is not kept.
    if (this.#count > MAX_KEPT) this.#items.length = 0
    else this.#items.fill(undefined, 0, this.#count)
    this.#count = 0
    return taken
  }
}

const MAX_KEPT = 16
