import { LonghaulError } from "../contract/error.ts"
import type { Transport, TransportRequest, TransportSink } from "../contract/provider.ts"
import { onAbort } from "../lib/abort.ts"

export interface StreamDeadlines {
  /** From the request to the first byte of the response body. */
  readonly firstByteMs: number
  /** Between two chunks. */
  readonly idleMs: number
}

/** The consumer of a watched exchange: reports its progress. */
export interface WatchedSink extends TransportSink {
  /** The answer is complete: nothing after it is needed. */
  readonly ended: boolean
  /** Grows with each piece of content; comments and pings do not count. */
  readonly progress: number
}

export const defaultDeadlines: StreamDeadlines = { firstByteMs: 120_000, idleMs: 60_000 }

/**
 * Streams through a transport, one exchange at a time, and fails with `stream_stalled` if nothing arrives for too long,
 * or only pings for ten times as long. It does not wait for a body that stays open after a complete answer. A sink may
 * throw: that ends the exchange with its error. The object is its own sink and is reused between exchanges: a
 * conversation has one at a time.
 */
export class WatchedTransport implements Transport, TransportSink {
  readonly #transport: Transport
  readonly #deadlines: StreamDeadlines
  /** Reused as long as nothing aborted it. */
  #abort = new AbortController()
  #linked: AbortSignal | undefined
  #sink: WatchedSink | undefined
  #allowed = 0
  #since = 0
  /** Time of the last content, and its amount by then. */
  #contentSince = 0
  #content = 0
  #ended: { readonly error: unknown } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #look = () => this.#lookAfter()
  readonly #over = () => {
    clearTimeout(this.#timer)
    // Whatever happened to the connection since.
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
    // One timer watches the whole exchange: resetting it per chunk would cost more than reading the chunk.
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

  /** Most servers end the body immediately, which keeps the connection for the next request. */
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
      this.#abort = new AbortController()
      this.#linked = undefined
    }
    const abort = this.#abort
    if (signal !== this.#linked) onAbort(signal, () => abort.abort())
    this.#linked = signal
  }
}

/** Factor of `idleMs` that a stream of pings may last. */
const PINGS_ALONE = 10
/** How long to wait for the end of a body after a complete answer. */
const BODY_END_MS = 1_000
