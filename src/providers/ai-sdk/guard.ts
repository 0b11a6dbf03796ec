import { LonghaulError } from "../../contract/error.ts"
import { onAbort } from "../../lib/abort.ts"
import type { StreamDeadlines } from "../deadline.ts"

export interface Guard {
  /** Aborts when the work is no longer needed. */
  readonly signal: AbortSignal
  /** Data arrived: the clock restarts. */
  received(): void
}

/**
 * Runs work under deadlines. If nothing arrives for too long, or the caller aborts, it rejects immediately, whether or
 * not the third-party work honours its signal.
 */
export function guarded<Value>(
  { firstByteMs, idleMs }: StreamDeadlines,
  signal: AbortSignal,
  work: (guard: Guard) => Promise<Value>,
): Promise<Value> {
  const aborted = () => new LonghaulError("cancelled", "The call was aborted.")
  if (signal.aborted) return Promise.reject(aborted())
  return new Promise((resolve, reject) => {
    const abort = new AbortController()
    let since = performance.now()
    let allowed = firstByteMs
    const release = () => {
      clearTimeout(timer)
      unlink()
    }
    const fail = (error: unknown) => {
      release()
      // Before the signal: the reaction of the work to it is not the reason.
      reject(error)
      abort.abort()
    }
    const look = () => {
      const left = allowed - (performance.now() - since)
      if (left > 0) timer = setTimeout(look, Math.min(left, idleMs))
      else fail(new LonghaulError("stream_stalled", `The provider sent nothing for ${allowed} ms.`))
    }
    let timer = setTimeout(look, Math.min(firstByteMs, idleMs))
    const unlink = onAbort(signal, () => fail(aborted()))
    const guard: Guard = {
      signal: abort.signal,
      received() {
        since = performance.now()
        allowed = idleMs
      },
    }
    work(guard).then((value) => {
      release()
      resolve(value)
    }, fail)
  })
}
