/** Values in order, for one reader. */
export class Inbox<Value> {
  readonly #values: Value[] = []
  #end: { readonly error?: unknown } | undefined
  #wake: (() => void) | undefined

  push(value: Value): void {
    this.#values.push(value)
    this.#wake?.()
  }

  /** The values already in it are the last; with an error, reading rejects with it after them. */
  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end
    this.#wake?.()
  }

  /** True once nothing more is put in. */
  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** Undefined: all values have been read. */
  async next(): Promise<Value | undefined> {
    while (this.#values.length === 0) {
      if (this.#end && "error" in this.#end) throw this.#end.error
      if (this.#end) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#values.shift()
  }
}
