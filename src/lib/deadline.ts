import { LonghaulError } from "../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../contract/provider.ts"
import { onAbort } from "./abort.ts"

export interface StreamDeadlines {
  /** From the request to the first byte of its answer's body. */
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
  const guarded = (work: () => void) => {
    if (ended) return
    try {
      work()
    } catch (error) {
      end(error)
    }
  }
  // One timer looks after the whole stream: resetting it for each chunk would cost more than reading the chunk.
  const look = () => {
    const left = allowed - (performance.now() - since)
    if (left > 0) timer = setTimeout(look, left)
    else end(new LonghaulError("stream_stalled", `The provider sent nothing for ${allowed} ms.`))
  }
  let timer = setTimeout(look, allowed)
  let begun = false
  const begin = () => {
    begun = true
    allowed = deadlines.idleMs
    clearTimeout(timer)
    timer = setTimeout(look, allowed)
  }
  try {
    await transport.stream(
      { ...request, signal: abort.signal },
      {
        head: (status, header) => guarded(() => sink.head(status, header)),
        chunk(bytes) {
          since = performance.now()
          if (!begun) begin()
          guarded(() => sink.chunk(bytes))
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
