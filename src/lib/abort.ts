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

/** Calls `then` when the signal aborts, or immediately if it already has; the returned function cancels that. */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (!signal) return nothing
  const listener = { aborted: then }
  addAbortListener(signal, listener)
  return () => removeAbortListener(signal, listener)
}

/** Settles as `value` does, or resolves with undefined as soon as the signal aborts. */
export function orAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, () => resolve(undefined))
    Promise.resolve(value).then(resolve, reject).finally(unlink)
  })
}

/**
 * Does the work with a signal that aborts with the given one, or after `ms` with a `TimeoutError`. `AbortSignal.any` refers to its
 * sources weakly, so that an `AbortSignal.timeout` among them may be collected and never fires.
 */
export async function withTimeout<Value>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (limit: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const limit = new AbortController()
  if (signal?.aborted) limit.abort(signal.reason)
  const unlink = onAbort(signal, () => limit.abort(signal?.reason))
  const late = () => limit.abort(new DOMException(`It took longer than ${ms} ms.`, "TimeoutError"))
  const timer = unreferenced(setTimeout(late, ms))
  try {
    return await work(limit.signal)
  } finally {
    clearTimeout(timer)
    unlink()
  }
}

export interface AbortListener {
  aborted(): void
}

/**
 * A signal that lives as long as a run gets one listener for all waits: adding and removing listeners costs more than
 * the work they wait for.
 */
export function addAbortListener(signal: AbortSignal, listener: AbortListener): void {
  // Not before the caller continues.
  if (signal.aborted) queueMicrotask(() => listener.aborted())
  // Usually one or two: a set would allocate a new table each time one is added and removed.
  else (waitingFor.get(signal) ?? listenTo(signal)).push(listener)
}

export function removeAbortListener(signal: AbortSignal, listener: AbortListener): void {
  const waiting = waitingFor.get(signal)
  const at = waiting?.indexOf(listener) ?? -1
  if (at !== -1) waiting?.splice(at, 1)
}

/** Our own `AbortController`: internal waiters are notified without an event, which a run does not need. */
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

/** A waiter may remove another while it is called. */
function tellAll(waiting: AbortListener[]): void {
  for (let next = waiting.shift(); next; next = waiting.shift()) next.aborted()
}

const waitingFor = new WeakMap<AbortSignal, AbortListener[]>()

function nothing(): void {}

/** Lets the process exit while the timer is pending, on hosts where timers keep a process alive. */
export function unreferenced<Timer>(timer: Timer): Timer {
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function")
    timer.unref()
  return timer
}
