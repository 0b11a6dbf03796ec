/**
 * A queue with `push` for the writer and `for await` for the reader. A promise exists only while the reader waits; otherwise a
 * push is an array append. The iteration ends when the queue is closed. After the reader leaves early, pushes do nothing.
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

  /** Removes and returns the unread items. */
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
      const value = this.#items[this.#head++] as T // Safe: the head is below the length.
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
