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
 * Calls `then` when the signal aborts, at once if it has; the answer takes it back. A signal that lives as long as a run
 * gets one listener for all that is ever waited for: adding and removing listeners costs more than what they wait for.
 */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (!signal) return nothing
  if (signal.aborted) {
    // Not before the caller has what this answers.
    queueMicrotask(then)
    return nothing
  }
  let waiting = waitingFor.get(signal)
  if (waiting === undefined) {
    const all = new Set<() => void>()
    waiting = all
    waitingFor.set(signal, all)
    signal.addEventListener("abort", () => {
      for (const each of all) each()
      all.clear()
    })
  }
  const all = waiting
  all.add(then)
  return () => {
    all.delete(then)
  }
}

const waitingFor = new WeakMap<AbortSignal, Set<() => void>>()

function nothing(): void {}
