import type { Stop } from "../../contract/backend.ts"

/** Stops a session that gives no sign of life for too long, or must not continue. */
export class Watch {
  /** Why the runtime stopped the session, if it did. */
  cause: Stop | undefined
  readonly #idleMs: number | undefined
  readonly #stalled: () => Stop
  readonly #interrupt: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #lastSign = 0
  /** Calls that the session waits for: it owes no sign of life in the meantime. */
  #waiting = 0

  /** `idleMs` undefined: any silence is accepted. `stalled`: why a session without a sign of life stops. */
  constructor(idleMs: number | undefined, stalled: () => Stop, interrupt: () => void) {
    this.#idleMs = idleMs
    this.#stalled = stalled
    this.#interrupt = interrupt
    this.alive()
  }

  /** Called for each line of a program: one timer runs on, and starts again for what is left where there was a sign. */
  alive(): void {
    if (this.#idleMs === undefined) return
    this.#lastSign = performance.now()
    if (this.#timer === undefined) this.#start(this.#idleMs)
  }

  /** Runs work of the host for which the session waits. */
  during<Value>(work: Promise<Value>): Promise<Value> {
    if (this.#idleMs === undefined) return work
    this.#waiting++
    this.alive()
    return work.finally(() => {
      this.#waiting--
      this.alive()
    })
  }

  #start(afterMs: number): void {
    if (this.#waiting > 0 || this.cause !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const leftMs = (this.#idleMs ?? 0) - (performance.now() - this.#lastSign)
      if (leftMs > 0) this.#start(leftMs)
      else if (this.#waiting === 0) this.stop(this.#stalled())
    }, afterMs)
  }

  stop(cause: Stop): void {
    if (this.cause !== undefined) return
    this.cause = cause
    this.close()
    this.#interrupt()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
