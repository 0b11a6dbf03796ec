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
 * Streams through a transport, one exchange after the other, and fails with `stream_stalled` where nothing comes for too
 * long. A sink may throw: that ends the exchange, and is what it rejects with.
 */
export class WatchedTransport implements Transport {
  readonly #transport: Transport
  readonly #deadlines: StreamDeadlines
  /** Kept from one exchange to the next, as long as nothing aborted it. */
  #abort = new AbortController()
  #linked: AbortSignal | undefined

  constructor(transport: Transport, deadlines: StreamDeadlines) {
    this.#transport = transport
    this.#deadlines = deadlines
  }

  async stream(request: TransportRequest, sink: TransportSink): Promise<void> {
    const abort = this.#armed(request.signal)
    const { firstByteMs, idleMs } = this.#deadlines
    let allowed = firstByteMs
    let since = performance.now()
    let ended: { readonly error: unknown } | undefined
    const end = (error: unknown) => {
      ended ??= { error }
      abort.abort()
    }
    // One timer looks after the whole exchange: resetting it for each chunk would cost more than reading the chunk.
    const look = () => {
      const left = allowed - (performance.now() - since)
      if (left > 0) timer = setTimeout(look, Math.min(left, idleMs))
      else end(new LonghaulError("stream_stalled", `The provider sent nothing for ${allowed} ms.`))
    }
    let timer = setTimeout(look, Math.min(firstByteMs, idleMs))
    try {
      await this.#transport.stream(
        { ...request, signal: abort.signal },
        {
          head(status, header) {
            try {
              sink.head(status, header)
            } catch (error) {
              end(error)
            }
          },
          chunk(bytes) {
            since = performance.now()
            allowed = idleMs
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
    }
    if (ended) throw ended.error
  }

  #armed(signal: AbortSignal | undefined): AbortController {
    if (this.#abort.signal.aborted) {
      this.#abort = new AbortController()
      this.#linked = undefined
    }
    const abort = this.#abort
    if (signal !== this.#linked) onAbort(signal, () => abort.abort())
    this.#linked = signal
    return abort
  }
}
