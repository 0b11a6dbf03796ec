/** Work under a name waits for all work that came before it under that name. */
export class Locks {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(name)
    const turn = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    this.#last.set(name, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name)
    }
  }

  /** Under several names at once; always taken in the same order, so that nobody waits for each other. */
  runAll<Value>(names: readonly string[], work: () => Promise<Value>): Promise<Value> {
    const ordered = [...new Set(names)].sort()
    return ordered.reduceRight<() => Promise<Value>>((inner, name) => () => this.run(name, inner), work)()
  }
}
