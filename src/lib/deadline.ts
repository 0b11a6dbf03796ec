import { LonghaulError } from "../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../contract/provider.ts"
import { Aborter, onAbort } from "./abort.ts"

export interface StreamDeadlines {
  /** From the request to the first byte of its answer's body. */
  readonly firstByteMs: number
  /** Between two chunks. */
  readonly idleMs: number
}

export const defaultDeadlines: StreamDeadlines = { firstByteMs: 120_000, idleMs: 60_000 }

/**
 * Streams through a transport, one exchange after the other, and fails with `stream_stalled` where nothing comes for too
 * long. A sink may throw: that ends the exchange, and is what it rejects with. It is its own sink and keeps what it needs
 * from one exchange to the next: a conversation has one at a time.
 */
export class WatchedTransport implements Transport, TransportSink {
  readonly #transport: Transport
  readonly #deadlines: StreamDeadlines
  /** Kept as long as nothing aborted it. */
  #abort = new Aborter()
  #linked: AbortSignal | undefined
  #sink: TransportSink | undefined
  #allowed = 0
  #since = 0
  #ended: { readonly error: unknown } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #look = () => this.#lookAfter()
  readonly #over = () => {
    clearTimeout(this.#timer)
    if (this.#ended) throw this.#ended.error
  }
  readonly #failed = (error: unknown) => {
    this.#ended ??= { error }
    this.#over()
  }

  constructor(transport: Transport, deadlines: StreamDeadlines) {
    this.#transport = transport
    this.#deadlines = deadlines
  }

  stream({ url, headers, body, signal }: TransportRequest, sink: TransportSink): Promise<void> {
    const { firstByteMs, idleMs } = this.#deadlines
    this.#arm(signal)
    this.#sink = sink
    this.#ended = undefined
    this.#allowed = firstByteMs
    this.#since = performance.now()
    // One timer looks after the whole exchange: resetting it for each chunk would cost more than reading the chunk.
    this.#timer = setTimeout(this.#look, Math.min(firstByteMs, idleMs))
    const exchange = this.#transport.stream({ url, headers, body, signal: this.#abort.signal }, this)
    return exchange.then(this.#over, this.#failed)
  }

  head(status: number, header: (name: string) => string | undefined): void {
    try {
      this.#sink?.head(status, header)
    } catch (error) {
      this.#end(error)
    }
  }

  chunk(bytes: Uint8Array): void {
    this.#since = performance.now()
    this.#allowed = this.#deadlines.idleMs
    if (this.#ended) return
    try {
      this.#sink?.chunk(bytes)
    } catch (error) {
      this.#end(error)
    }
  }

  #lookAfter(): void {
    const left = this.#allowed - (performance.now() - this.#since)
    if (left > 0) this.#timer = setTimeout(this.#look, Math.min(left, this.#deadlines.idleMs))
    else this.#end(new LonghaulError("stream_stalled", `The provider sent nothing for ${this.#allowed} ms.`))
  }

  #end(error: unknown): void {
    this.#ended ??= { error }
    this.#abort.abort()
  }

  #arm(signal: AbortSignal | undefined): void {
    if (this.#abort.signal.aborted) {
      this.#abort = new Aborter()
      this.#linked = undefined
    }
    const abort = this.#abort
    if (signal !== this.#linked) onAbort(signal, () => abort.abort())
    this.#linked = signal
  }
}
