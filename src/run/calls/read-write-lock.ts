/**
 * A fair read-write lock: shared work runs concurrently, exclusive work runs alone. Exclusive work waits for all earlier work,
 * and all later work waits for it.
 */
export class ReadWriteLock {
  #running = 0
  #exclusive = false
  readonly #waiting: { readonly shared: boolean; enter(): void }[] = []

  /** Resolves when the work may start; call `leave` when it is done. */
  enter(shared: boolean): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#admits(shared)) {
      this.#admit(shared)
      return undefined
    }
    return new Promise((enter) => {
      this.#waiting.push({ shared, enter })
    })
  }

  leave(): void {
    this.#running--
    this.#exclusive = false
    for (let next = this.#waiting[0]; next && this.#admits(next.shared); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#admit(next.shared)
      next.enter()
    }
  }

  #admits(shared: boolean): boolean {
    return this.#running === 0 || (shared && !this.#exclusive)
  }

  #admit(shared: boolean): void {
    this.#running++
    this.#exclusive = !shared
  }
}
