/** Work under a name waits for all earlier work under that name. */
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

  /** Under several names at once; always acquired in the same order to avoid deadlocks. */
  runAll<Value>(names: readonly string[], work: () => Promise<Value>): Promise<Value> {
    const ordered = [...new Set(names)].sort()
    return ordered.reduceRight<() => Promise<Value>>((inner, name) => () => this.run(name, inner), work)()
  }
}
