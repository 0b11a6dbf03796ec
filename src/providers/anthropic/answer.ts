import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Answer, AnswerCall, AnswerPart, AnswerSink, StopReason } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import { SseCutter } from "../../lib/sse.ts"
import { streamFailure } from "./failure.ts"

/** Assembles one streamed answer. Throws where the stream breaks its protocol; never gives out half a tool call. */
export class AnswerAssembler {
  requestId: string | undefined
  readonly #sink: AnswerSink
  readonly #cutter = new SseCutter((data) => this.#event(data))
  readonly #blocks: Block[] = []
  #model = ""
  #stopReason: string | null = null
  readonly #usage: Partial<Record<(typeof buckets)[number], number | null>> = {}
  #untold = ""
  #untoldIndex = 0
  #untoldKind: DeltaKind = "text"
  #started = false
  #stopped = false

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  push(bytes: Uint8Array): void {
    this.#cutter.push(bytes)
    this.#tellDelta()
  }

  finish(): Answer {
    if (!this.#stopped)
      throw this.#error("stream_incomplete", "The answer ended before the provider said it was complete.")
    const stopReason = this.#stopReason === null ? undefined : stopReasons[this.#stopReason]
    if (stopReason === undefined)
      throw this.#error("unexpected_stop", `The model stopped for an unknown reason: ${this.#stopReason}.`)
    return {
      parts: this.#blocks.map(({ part }) => part as AnswerPart),
      stopReason,
      usage: {
        inputTokens: this.#usage.input_tokens ?? null,
        outputTokens: this.#usage.output_tokens ?? null,
        cacheReadTokens: this.#usage.cache_read_input_tokens ?? 0,
        cacheWriteTokens: this.#usage.cache_creation_input_tokens ?? 0,
        costUsd: null,
      },
      model: this.#model,
      ...(this.requestId !== undefined && { requestId: this.requestId }),
    }
  }

  #event(data: string): void {
    if (this.#stopped) return
    // Nearly all events of a long answer are these: taking them apart in full would be most of its cost.
    const plain = plainDelta(data)
    if (plain !== undefined) {
      this.#grow(plain.kind, plain.index, plain.text)
      return
    }
    const event = this.#parse(data)
    switch (event.type) {
      case "message_start":
        this.#start(event)
        break
      case "content_block_start":
        this.#openBlock(event)
        break
      case "content_block_delta":
        this.#delta(event)
        break
      case "content_block_stop":
        this.#closeBlock(event)
        break
      case "message_delta":
        if (isJsonObject(event.delta) && typeof event.delta.stop_reason === "string")
          this.#stopReason = event.delta.stop_reason
        if (isJsonObject(event.usage)) this.#addUsage(event.usage)
        break
      case "message_stop":
        if (this.#blocks.some(({ part }) => part === null)) throw this.#malformed("it stopped inside a block")
        this.#stopped = true
        break
      case "error": {
        const error = isJsonObject(event.error) ? event.error : {}
        throw streamFailure(String(error.type), String(error.message), this.requestId)
      }
      // New kinds of event may come at any time, and `ping` does: the protocol says to pass over them.
    }
  }

  #start(event: JsonObject): void {
    if (this.#started) throw this.#malformed("it began twice")
    this.#started = true
    if (!isJsonObject(event.message)) return
    this.#model = String(event.message.model ?? "")
    if (isJsonObject(event.message.usage)) this.#addUsage(event.message.usage)
  }

  #openBlock(event: JsonObject): void {
    const start = event.content_block
    if (!this.#started || !isJsonObject(start) || event.index !== this.#blocks.length)
      throw this.#malformed("a block out of order")
    const block: Block = { kind: String(start.type), text: "", opaque: "", start, part: null }
    if (block.kind === "thinking") {
      block.text = String(start.thinking ?? "")
      block.opaque = String(start.signature ?? "")
      this.#sink.partStart?.("reasoning", this.#blocks.length)
    } else if (block.kind === "text") {
      block.text = String(start.text ?? "")
      this.#sink.partStart?.("text", this.#blocks.length)
    }
    this.#blocks.push(block)
  }

  #delta({ index, delta }: JsonObject): void {
    const block = this.#openAt(index)
    if (!isJsonObject(delta)) throw this.#malformed("a delta without content")
    if (delta.type === "text_delta") this.#grow("text", index as number, String(delta.text))
    else if (delta.type === "thinking_delta") this.#grow("reasoning", index as number, String(delta.thinking))
    else if (delta.type === "input_json_delta") this.#grow("arguments", index as number, String(delta.partial_json))
    else if (delta.type === "signature_delta") block.opaque += String(delta.signature)
  }

  /** Deltas that came together are put and told together: nobody gains from taking them one by one. */
  #grow(kind: DeltaKind, index: number, text: string): void {
    if (index !== this.#untoldIndex) this.#tellDelta()
    this.#untoldIndex = index
    this.#untoldKind = kind
    this.#untold += text
  }

  #tellDelta(): void {
    if (this.#untold === "") return
    const delta = this.#untold
    this.#untold = ""
    this.#openAt(this.#untoldIndex).text += delta
    if (this.#untoldKind !== "arguments") this.#sink.delta?.(this.#untoldKind, this.#untoldIndex, delta)
  }

  #closeBlock({ index }: JsonObject): void {
    this.#tellDelta()
    const block = this.#openAt(index)
    block.part = partOf(block)
    if (block.part.type === "tool-call") this.#sink.call?.(block.part, index as number)
  }

  #openAt(index: Json | undefined): Block {
    const block = typeof index === "number" ? this.#blocks[index] : undefined
    if (block === undefined || block.part !== null) throw this.#malformed("it refers to a block that is not open")
    return block
  }

  #addUsage(usage: JsonObject): void {
    // Later reports are totals that replace earlier ones, and leave out what did not change.
    for (const bucket of buckets) this.#usage[bucket] = count(usage[bucket]) ?? this.#usage[bucket] ?? null
  }

  #parse(data: string): JsonObject {
    try {
      const event: unknown = JSON.parse(data)
      if (isJsonObject(event)) return event
    } catch {
      // Told below: the parser's own words would quote the stream.
    }
    throw this.#malformed("an event is not JSON")
  }

  #malformed(what: string): LonghaulError {
    return this.#error("stream_malformed", `The provider's stream breaks its protocol: ${what}.`)
  }

  #error(code: "stream_incomplete" | "unexpected_stop" | "stream_malformed", message: string): LonghaulError {
    return new LonghaulError(code, message, { ...(this.requestId !== undefined && { requestId: this.requestId }) })
  }
}

type DeltaKind = "text" | "reasoning" | "arguments"

/** A delta that is spelt as servers spell it; anything else takes the long way. */
function plainDelta(data: string): { kind: DeltaKind; index: number; text: string } | undefined {
  if (!data.startsWith(DELTA_PREFIX) || !data.endsWith('"}}')) return undefined
  const at = DELTA_PREFIX.length
  const found = deltaKinds.find(({ infix }) => data.startsWith(infix, at + 1))
  if (found === undefined) return undefined
  const raw = data.slice(at + 1 + found.infix.length, -3)
  const text = raw.includes("\\") || raw.includes('"') ? unescaped(raw) : raw
  return text === undefined ? undefined : { kind: found.kind, index: Number(data[at]), text }
}

function unescaped(raw: string): string | undefined {
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return undefined
  }
}

const DELTA_PREFIX = '{"type":"content_block_delta","index":'
const deltaKinds: readonly { readonly kind: DeltaKind; readonly infix: string }[] = [
  { kind: "text", infix: ',"delta":{"type":"text_delta","text":"' },
  { kind: "arguments", infix: ',"delta":{"type":"input_json_delta","partial_json":"' },
  { kind: "reasoning", infix: ',"delta":{"type":"thinking_delta","thinking":"' },
]

interface Block {
  readonly kind: string
  readonly start: JsonObject
  /** What its deltas added up to: text, thinking or the JSON of a call's arguments. */
  text: string
  opaque: string
  /** Null while the block is open. */
  part: AnswerPart | null
}

function partOf(block: Block): AnswerPart {
  switch (block.kind) {
    case "tool_use":
      return callOf(block)
    case "thinking":
      return { type: "reasoning", text: block.text, opaque: block.opaque }
    case "redacted_thinking":
      return { type: "reasoning", text: "", opaque: { redacted: block.start.data ?? null } }
    default:
      return { type: "text", text: block.text }
  }
}

function callOf({ start, text }: Block): AnswerCall {
  const call = { type: "tool-call", wireId: String(start.id), name: String(start.name) } as const
  try {
    return {
      ...call,
      args: text.trim() === "" ? ((start.input as Json | undefined) ?? {}) : (JSON.parse(text) as Json),
    }
  } catch {
    return { ...call, args: null, invalid: "The arguments are not valid JSON." }
  }
}

const buckets = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] as const

const stopReasons: Readonly<Record<string, StopReason>> = {
  end_turn: "end",
  stop_sequence: "end",
  tool_use: "tool-calls",
  max_tokens: "output-limit",
  model_context_window_exceeded: "context-overflow",
  refusal: "refusal",
  pause_turn: "pause",
}

function count(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null
}
