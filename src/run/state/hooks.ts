import type { HookedRun, Hooks } from "../../contract/hooks.ts"
import { orAborted } from "../../lib/abort.ts"

/** The hooks of one run. None of them can fail it or, once its signal aborts, delay it. */
export class RunHooks {
  readonly #hooks: Hooks
  readonly #run: HookedRun
  readonly #onFailure: (slot: keyof Hooks, kind: string) => void

  /** `onFailure` receives the kind of error of a failed hook, never its message, which may contain secrets. */
  constructor(hooks: Hooks, run: HookedRun, onFailure: (slot: keyof Hooks, kind: string) => void) {
    this.#hooks = hooks
    this.#run = run
    this.#onFailure = onFailure
  }

  has(slot: keyof Hooks): boolean {
    return this.#hooks[slot] !== undefined
  }

  /** Calls one hook. Returns undefined if it fails. */
  async call<Value>(
    slot: keyof Hooks,
    hook: (hooks: Hooks, run: HookedRun) => Value | Promise<Value>,
  ): Promise<Value | undefined> {
    try {
      return await orAborted(hook(this.#hooks, this.#run), this.#run.signal)
    } catch (error) {
      this.#onFailure(slot, error instanceof Error ? String(error.name).slice(0, 100) : typeof error)
      return undefined
    }
  }
}
