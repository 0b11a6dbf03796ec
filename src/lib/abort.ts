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

/**
 * Calls `then` when the signal aborts, or soon if it already has; the returned function cancels that. A signal gets one listener
 * for all that wait for it: Node warns of more than ten, which parallel calls of one run easily have.
 */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (!signal) return nothing
  const waiter = { call: then }
  // Not before the caller continues.
  if (signal.aborted) queueMicrotask(() => waiter.call())
  else waitersFor(signal).add(waiter)
  return () => {
    waiter.call = nothing
    waiters.get(signal)?.delete(waiter)
  }
}

function waitersFor(signal: AbortSignal): Set<Waiter> {
  const known = waiters.get(signal)
  if (known) return known
  const waiting = new Set<Waiter>()
  waiters.set(signal, waiting)
  signal.addEventListener("abort", () => {
    for (const waiter of waiting) waiter.call()
  })
  return waiting
}

interface Waiter {
  call: () => void
}

const waiters = new WeakMap<AbortSignal, Set<Waiter>>()

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

function nothing(): void {}

/** Lets the process exit while the timer is pending, on hosts where timers keep a process alive. */
export function unreferenced<Timer>(timer: Timer): Timer {
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function")
    timer.unref()
  return timer
}
