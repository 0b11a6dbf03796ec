import { LonghaulError } from "../../contract/error.ts"
import { onAbort } from "../../lib/abort.ts"
import type { StreamDeadlines } from "../deadline.ts"

export interface Guard {
  /** Aborts when nobody waits for the work any more. */
  readonly signal: AbortSignal
  /** Something came: the clock starts anew. */
  heard(): void
}

/**
 * Work under deadlines. Where nothing is heard for too long, or the caller aborts, it rejects at once, whether or not the
 * work minds its signal: others wrote it.
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
      // Before the signal: what the work makes of that is not the reason.
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
      heard() {
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
