import { LonghaulError } from "../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../contract/provider.ts"
import { onAbort } from "./abort.ts"

export interface StreamDeadlines {
  /** From the request to the head of its answer. */
  readonly firstByteMs: number
  /** Between two chunks. */
  readonly idleMs: number
}

export const defaultDeadlines: StreamDeadlines = { firstByteMs: 120_000, idleMs: 60_000 }

/**
 * Streams through a transport, and fails with `stream_stalled` where nothing comes for too long. A sink may throw: that
 * ends the stream, and is what this rejects with.
 */
export async function streamWithin(
  deadlines: StreamDeadlines,
  transport: Transport,
  request: TransportRequest,
  sink: TransportSink,
): Promise<void> {
  const abort = new AbortController()
  const unlink = onAbort(request.signal, () => abort.abort())
  let allowed = deadlines.firstByteMs
  let since = performance.now()
  let ended: { readonly error: unknown } | undefined
  const end = (error: unknown) => {
    ended ??= { error }
    abort.abort()
  }
  // One timer looks after the whole stream: resetting it for each chunk would cost more than reading the chunk.
  const look = () => {
    const left = allowed - (performance.now() - since)
    if (left > 0) {
      timer = setTimeout(look, left)
      return
    }
    end(new LonghaulError("stream_stalled", `The provider sent nothing for ${allowed} ms.`))
  }
  let timer = setTimeout(look, allowed)
  try {
    await transport.stream(
      { ...request, signal: abort.signal },
      {
        head(status, header) {
          since = performance.now()
          if (deadlines.idleMs < allowed) {
            clearTimeout(timer)
            timer = setTimeout(look, deadlines.idleMs)
          }
          allowed = deadlines.idleMs
          try {
            sink.head(status, header)
          } catch (error) {
            end(error)
          }
        },
        chunk(bytes) {
          since = performance.now()
          if (ended) return
          try {
            sink.chunk(bytes)
          } catch (error) {
            end(error)
          }
        },
      },
    )
  } catch (error) {
    ended ??= { error }
  } finally {
    clearTimeout(timer)
    unlink()
  }
  if (ended) throw ended.error
}
