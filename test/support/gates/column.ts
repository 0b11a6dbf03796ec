import type { Backend } from "../../../src/contract/backend.ts"
import type { RuntimeConfig } from "../../../src/contract/run.ts"

/** `own`: a shell that the backend runs itself. `ours`: the tool `send` of the runtime. */
export type CallKind = "own" | "ours"

/** A call as the model of a backend makes it. `text`: what it would do. */
export interface ScriptedCall {
  readonly id: string
  readonly text: string
}

/** A vendor's program, or a model, that makes calls as the test directs it, whatever it was told. */
export interface Program {
  /** Makes these calls in one answer of the model, and runs those that may run. Resolves when all have ended. */
  answer(...calls: readonly ScriptedCall[]): Promise<void>
}

export interface Direction {
  readonly kind: CallKind
  /** The work of the program. When it resolves, the model has given its last answer. */
  play(program: Program): Promise<void>
  /** Runs a permitted call of an own tool. If it rejects, the program reports a failed call. */
  run(text: string, signal: AbortSignal): Promise<void>
}

/** How one backend is driven without its vendor. */
export interface Column {
  readonly kinds: readonly CallKind[]
  setUp(direction: Direction): Partial<RuntimeConfig> & { readonly backend: Backend }
}

/** The value with some members replaced. Its own methods stay bound to it, also those of a class with private members. */
export function over<Value extends object>(value: Value, own: Partial<Value>): Value {
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(name in own ? own : target, name)
      return typeof member === "function" ? member.bind(name in own ? own : target) : member
    },
  })
}

/** Plays the part until it has ended or the program was told to stop; then all running calls have ended. */
export class Stage {
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()
  readonly #direction: Direction

  constructor(direction: Direction) {
    this.#direction = direction
  }

  /** True: the model has given its last answer. False: the program was stopped. */
  async play(program: Program): Promise<boolean> {
    const { signal } = this.#stopping
    const stopped = new Promise<false>((resolve) => {
      if (signal.aborted) resolve(false)
      signal.addEventListener("abort", () => resolve(false))
    })
    const isDone = await Promise.race([this.#direction.play(program).then(() => true), stopped])
    await Promise.allSettled(this.#running)
    return isDone
  }

  /** Runs a permitted call. False: it has failed, or was stopped. */
  async run(text: string): Promise<boolean> {
    const running = this.#direction.run(text, this.#stopping.signal)
    this.#running.add(running)
    return running.then(
      () => true,
      () => false,
    )
  }

  stop(): void {
    this.#stopping.abort()
  }
}
