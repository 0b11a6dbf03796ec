import { LonghaulError } from "../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../contract/provider.ts"
import { Aborter, onAbort } from "../lib/abort.ts"

export interface StreamDeadlines {
  /** From the request to the first byte of its answer's body. */
  readonly firstByteMs: number
  /** Between two chunks. */
  readonly idleMs: number
}

/** What a watched exchange is for: tells how far it has got. */
export interface WatchedSink extends TransportSink {
  /** The answer is complete: nothing that follows is needed. */
  readonly ended: boolean
  /** Grows with each piece of content; comments and pings add nothing. */
  readonly progress: number
}

export const defaultDeadlines: StreamDeadlines = { firstByteMs: 120_000, idleMs: 60_000 }

/**
 * Streams through a transport, one exchange after the other, and fails with `stream_stalled` where nothing comes for too
 * long, or nothing but pings for ten times as long. A body that stays open behind a complete answer is not waited for. A
 * sink may throw: that ends the exchange, and is what it rejects with. It is its own sink and keeps what it needs from one
 * exchange to the next: a conversation has one at a time.
 */
export class WatchedTransport implements Transport, TransportSink {
  readonly #transport: Transport
  readonly #deadlines: StreamDeadlines
  /** Kept as long as nothing aborted it. */
  #abort = new Aborter()
  #linked: AbortSignal | undefined
  #sink: WatchedSink | undefined
  #allowed = 0
  #since = 0
  /** When content last came, and how much there was by then. */
  #contentSince = 0
  #content = 0
  #ended: { readonly error: unknown } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #look = () => this.#lookAfter()
  readonly #over = () => {
    clearTimeout(this.#timer)
    // Whatever became of the connection since.
    if (this.#ended && !this.#sink?.ended) throw this.#ended.error
  }
  readonly #failed = (error: unknown) => {
    this.#ended ??= { error }
    this.#over()
  }

  constructor(transport: Transport, deadlines: StreamDeadlines) {
    this.#transport = transport
    this.#deadlines = deadlines
  }

  stream({ url, headers, body, signal }: TransportRequest, sink: WatchedSink): Promise<void> {
    const { firstByteMs, idleMs } = this.#deadlines
    this.#arm(signal)
    this.#sink = sink
    this.#ended = undefined
    this.#allowed = firstByteMs
    this.#since = performance.now()
    this.#contentSince = this.#since
    this.#content = 0
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
    if (this.#ended || this.#sink === undefined) return
    try {
      this.#sink.chunk(bytes)
      if (this.#sink.ended) this.#closeSoon()
    } catch (error) {
      this.#end(error)
    }
  }

  #lookAfter(): void {
    const now = performance.now()
    const progress = this.#sink?.progress ?? 0
    if (progress > this.#content) {
      this.#content = progress
      this.#contentSince = this.#since
    }
    const mostWait = PINGS_ALONE * this.#deadlines.idleMs
    const left = Math.min(this.#allowed - (now - this.#since), mostWait - (now - this.#contentSince))
    if (left > 0) this.#timer = setTimeout(this.#look, Math.min(left, this.#deadlines.idleMs))
    else {
      const waited = now - this.#since < this.#allowed ? `only pings for ${mostWait}` : `nothing for ${this.#allowed}`
      this.#end(new LonghaulError("stream_stalled", `The provider sent ${waited} ms.`))
    }
  }

  /** Most servers end the body at once, which keeps the connection for the next request. */
  #closeSoon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#abort.abort(), BODY_END_MS)
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

/** How many times `idleMs` a stream of pings may last. */
const PINGS_ALONE = 10
/** How long the end of a body is awaited once its answer is complete. */
const BODY_END_MS = 1_000
