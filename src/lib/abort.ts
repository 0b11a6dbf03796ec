/** Resolves after `ms`, or as soon as the signal aborts. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
  })
}

/** Calls `then` when the signal aborts, at once if it has; the answer takes the listener away again. */
export function onAbort(signal: AbortSignal | undefined, then: () => void): () => void {
  if (!signal) return () => {}
  if (signal.aborted) then()
  else signal.addEventListener("abort", then, { once: true })
  return () => signal.removeEventListener("abort", then)
}
