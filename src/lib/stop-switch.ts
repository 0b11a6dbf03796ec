import type { InterruptMode } from "../contract/session.ts"

/** Stops work in two steps: first nothing new begins, then what is running is aborted. */
export class StopSwitch {
  readonly #immediate = new AbortController()
  /** Created only where something waits for it. */
  #halt: AbortController | undefined
  #mode: InterruptMode | undefined

  get mode(): InterruptMode | undefined {
    return this.#mode
  }

  /** True once nothing new may begin. */
  get stopping(): boolean {
    return this.#mode !== undefined
  }

  /** Aborts when running work must stop. */
  get signal(): AbortSignal {
    return this.#immediate.signal
  }

  /** Aborts when nothing new may begin, so that nothing needs to be waited for. */
  get halting(): AbortSignal {
    this.#halt ??= new AbortController()
    if (this.stopping) this.#halt.abort(reason)
    return this.#halt.signal
  }

  /** An immediate stop overrides a graceful one. Returns whether this call changed anything. */
  protected halt(mode: InterruptMode): boolean {
    if (this.#mode === "immediate" || this.#mode === mode) return false
    this.#mode = mode
    this.wake()
    if (mode === "immediate") this.#immediate.abort(reason)
    return true
  }

  /** Ends every wait for `halting` without stopping anything. */
  protected wake(): void {
    this.#halt?.abort(reason)
  }
}

/** Given explicitly: the default reason is an exception with a stack trace, created each time. */
const reason = "The run is being stopped."
