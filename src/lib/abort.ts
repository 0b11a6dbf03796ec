/** Resolves after `ms`, or as soon as the signal aborts. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      unlink()
      resolve()
    }
    const timer = setTimeout(done, ms)
    const unlink = onAbort(signal, done)
  })
}

/** Calls `then` when the signal aborts, at once if it has; the answer takes it back. */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (!signal) return nothing
  const listener = { aborted: then }
  addAbortListener(signal, listener)
  return () => removeAbortListener(signal, listener)
}

export interface AbortListener {
  aborted(): void
}

/**
 * A signal that lives as long as a run gets one listener for all that is ever waited for: adding and removing listeners
 * costs more than what they wait for.
 */
export function addAbortListener(signal: AbortSignal, listener: AbortListener): void {
  // Not before the caller goes on.
  if (signal.aborted) queueMicrotask(() => listener.aborted())
  // Mostly one or two: a set would make a new table each time that one comes and goes.
  else (waitingFor.get(signal) ?? listenTo(signal)).push(listener)
}

export function removeAbortListener(signal: AbortSignal, listener: AbortListener): void {
  const waiting = waitingFor.get(signal)
  const at = waiting?.indexOf(listener) ?? -1
  if (at !== -1) waiting?.splice(at, 1)
}

/** An `AbortController` of our own: those who wait for it here are told without an event, of which a run has no need. */
export class Aborter {
  readonly #controller = new AbortController()
  #waiting: AbortListener[] | undefined

  get signal(): AbortSignal {
    const { signal } = this.#controller
    if (this.#waiting === undefined) {
      this.#waiting = []
      waitingFor.set(signal, this.#waiting)
    }
    return signal
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason)
    tellAll(this.#waiting ?? [])
  }
}

function listenTo(signal: AbortSignal): AbortListener[] {
  const waiting: AbortListener[] = []
  waitingFor.set(signal, waiting)
  signal.addEventListener("abort", () => tellAll(waiting))
  return waiting
}

/** One may take back another while it is called. */
function tellAll(waiting: AbortListener[]): void {
  for (let next = waiting.shift(); next; next = waiting.shift()) next.aborted()
}

const waitingFor = new WeakMap<AbortSignal, AbortListener[]>()

function nothing(): void {}
