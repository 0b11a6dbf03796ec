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
  const waiting = waitingFor.get(signal) ?? listenTo(signal)
  // Mostly one or two: a set would make a new table each time that one comes and goes.
  waiting.push(then)
  return () => {
    const at = waiting.indexOf(then)
    if (at !== -1) waiting.splice(at, 1)
  }
}

function listenTo(signal: AbortSignal): (() => void)[] {
  const waiting: (() => void)[] = []
  waitingFor.set(signal, waiting)
  signal.addEventListener("abort", () => {
    // One may take back another while it is called.
    for (let next = waiting.shift(); next; next = waiting.shift()) next()
  })
  return waiting
}

const waitingFor = new WeakMap<AbortSignal, (() => void)[]>()

function nothing(): void {}
