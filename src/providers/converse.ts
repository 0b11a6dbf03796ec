import { LonghaulError } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { Answer, AnswerSink, Conversation, Transport } from "../contract/provider.ts"
import { fetchTransport } from "../lib/fetch-transport.ts"
import { AnswerParts } from "./answer-parts.ts"
import { BodyBuffer, type BodyShape } from "./body-buffer.ts"
import { defaultDeadlines, type WatchedSink, WatchedTransport } from "./deadline.ts"
import { incomplete, type Refusal } from "./failure.ts"
import type { ProviderOptions } from "./options.ts"
import { SseCutter, type SseSink } from "./sse.ts"

/** The protocol of one provider, for one conversation. */
export interface Wire {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly shape: BodyShape
  /** The response header with the request id. */
  readonly requestIdHeader: string
  /** Parses one answer. */
  reader(parts: AnswerParts): AnswerReader
  refused(refusal: Refusal): LonghaulError
}

/** Assembles one streamed answer. Throws if the stream violates its protocol; never delivers half a tool call. */
export interface AnswerReader extends SseSink {
  /** The protocol's end mark has arrived: nothing after it is needed. */
  readonly ended: boolean
  /** The stream has ended: returns the answer, or throws the reason why there is none. */
  finish(): Answer
}

/** Sequential requests over one transport, with deadlines. */
export class WireConversation implements Conversation, WatchedSink {
  readonly maxOutputTokens?: number
  readonly #wire: Wire
  readonly #transport: WatchedTransport
  readonly #buffer: BodyBuffer
  readonly #apiKey: string | undefined
  #parts: AnswerParts | undefined
  #reader: AnswerReader | undefined
  #cutter: SseCutter | undefined
  #refusal: { readonly status: number; readonly header: Refusal["header"]; body: string } | undefined
  #decoder: InstanceType<typeof TextDecoder> | undefined

  readonly #answer = (): Answer => {
    if (this.#refusal) throw this.#refused(this.#refusal)
    if (this.#reader === undefined) throw incomplete(undefined)
    if (!this.#reader.ended) this.#endStream(this.#reader)
    return this.#reader.finish()
  }

  constructor(wire: Wire, { apiKey, deadlines, fetch }: ProviderOptions, transport: Transport) {
    refuseBadHeaders(wire.headers)
    if (wire.shape.maxOutputTokens !== undefined) this.maxOutputTokens = wire.shape.maxOutputTokens
    this.#wire = wire
    this.#apiKey = apiKey
    this.#transport = new WatchedTransport(fetch ? fetchTransport(fetch) : transport, {
      ...defaultDeadlines,
      ...deadlines,
    })
    this.#buffer = new BodyBuffer(wire.shape)
  }

  call(messages: readonly Message[], sink: AnswerSink, signal: AbortSignal): Promise<Answer> {
    const { url, headers } = this.#wire
    this.#parts = new AnswerParts(sink)
    this.#reader = this.#wire.reader(this.#parts)
    this.#refusal = undefined
    this.#cutter = new SseCutter(this.#reader)
    const request = { url, headers, body: this.#buffer.body(messages), signal }
    return this.#transport.stream(request, this).then(this.#answer, (error) => this.#salvaged(error, signal))
  }

  get ended(): boolean {
    return this.#reader?.ended === true
  }

  get progress(): number {
    return this.#parts?.progress ?? 0
  }

  head(status: number, header: Refusal["header"]): void {
    if (this.#parts) this.#parts.requestId = header(this.#wire.requestIdHeader)
    // Some servers and proxies put an error in a JSON body with a success status.
    const isStream = status === 200 && !/^application\/([\w.-]+\+)?json/i.test(header("content-type") ?? "")
    if (isStream) {
      this.#parts?.accept()
      return
    }
    this.#refusal = { status, header, body: "" }
    this.#decoder = new TextDecoder()
  }

  #refused(refusal: Refusal): LonghaulError {
    return this.#wire.refused(withoutKey(refusal, this.#apiKey))
  }

  /** For a body that ended without its last blank line. Half an event is dropped. */
  #endStream(reader: AnswerReader): void {
    try {
      this.#cutter?.end()
    } catch (error) {
      if (LonghaulError.is(error) && error.code !== "stream_malformed") throw error
      if (!reader.ended) throw incomplete(this.#parts?.requestId)
    }
  }

  /** An answer that was complete when its connection failed is not requested, and paid for, again. */
  #salvaged(error: unknown, signal: AbortSignal): Answer {
    if (signal.aborted || this.#refusal || this.#reader === undefined) throw error
    let answer: Answer
    try {
      answer = this.#reader.finish()
    } catch {
      throw error
    }
    return answer
  }

  chunk(bytes: Uint8Array): void {
    if (this.#refusal === undefined) {
      this.#cutter?.push(bytes)
      this.#parts?.deliver()
    } else if (this.#refusal.body.length < MAX_REFUSAL_LENGTH)
      this.#refusal.body += this.#decoder?.decode(bytes, { stream: true })
  }
}

/** A key with stray characters would fail at every request with an incomprehensible error. */
function refuseBadHeaders(headers: Wire["headers"]): void {
  const bad = Object.keys(headers).find((name) => /[^\t\x20-\x7e\x80-\xff]/.test(headers[name] ?? ""))
  if (bad === undefined) return
  throw new LonghaulError("config_invalid", `The header ${bad} contains a character that headers cannot contain.`, {
    fix: "Check the API key and the headers for stray characters.",
  })
}

/** Servers quote unknown keys: they must not reach a journal. Shorter values are ordinary words, not secrets. */
function withoutKey(refusal: Refusal, apiKey = ""): Refusal {
  return apiKey.length < 8 ? refusal : { ...refusal, body: refusal.body.replaceAll(apiKey, "…") }
}

const MAX_REFUSAL_LENGTH = 64 * 1024
