import { onAbort } from "../lib/abort.ts"

/** Lets so many in at once; the others wait, first come, first served. */
export class Permits {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  get hasFree(): boolean {
    return this.#free > 0
  }

  /** Resolves when it may begin, with what to call when it is over. Whoever is aborted waits no longer and needs none. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else if (!(await this.#handedOver(signal))) return () => {}
    return () => {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }

  #handedOver(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = () => {
        unlink()
        resolve(true)
      }
      this.#waiting.push(enter)
      const unlink = onAbort(signal, () => {
        const place = this.#waiting.indexOf(enter)
        if (place === -1) return
        this.#waiting.splice(place, 1)
        resolve(false)
      })
    })
  }
}
