import { onAbort } from "./abort.ts"

/** A counting semaphore: at most `count` holders at once; the others wait in order of arrival. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  get hasFree(): boolean {
    return this.#free > 0
  }

  /** Resolves with a function that returns the permit. An aborted caller stops waiting, and gets a function without effect. */
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
