/**
 * Push on one side, `for await` on the other. A promise exists only while the reader waits, so a push without one costs
 * an array append. Ends when closed; a reader that leaves early makes later pushes free.
 */
export class EventQueue<T> implements AsyncIterable<T> {
  #items: T[] = []
  #head = 0
  #closed = false
  #abandoned = false
  #wake: ((result: IteratorResult<T>) => void) | undefined

  push(item: T): void {
    if (this.#closed || this.#abandoned) return
    const wake = this.#wake
    if (wake === undefined) {
      this.#items.push(item)
      return
    }
    this.#wake = undefined
    wake({ value: item, done: false })
  }

  /** Removes and returns what was pushed and not read. */
  takeBuffered(): readonly T[] {
    const items = this.#items.slice(this.#head)
    this.#items = []
    this.#head = 0
    return items
  }

  close(): void {
    this.#closed = true
    this.#wake?.({ value: undefined, done: true })
    this.#wake = undefined
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: () => this.#next(),
      return: () => {
        this.#abandoned = true
        this.#items = []
        this.#head = 0
        return Promise.resolve({ value: undefined, done: true })
      },
    }
  }

  #next(): Promise<IteratorResult<T>> {
    if (this.#head < this.#items.length) {
      const value = this.#items[this.#head++] as T
      if (this.#head === this.#items.length) {
        this.#items = []
        this.#head = 0
      }
      return Promise.resolve({ value, done: false })
    }
    if (this.#closed || this.#abandoned) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
