import type { JsonObject } from "../../contract/json.ts"
import type { Answer, StopReason } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { AnswerParts } from "../answer-parts.ts"
import type { AnswerReader } from "../converse.ts"
import { incomplete, malformed, unexpectedStop } from "../failure.ts"
import { count, parseEvent, unescaped } from "../json.ts"
import { streamFailure } from "./failure.ts"

/** Reads one Messages stream. */
export class AnthropicReader implements AnswerReader {
  readonly #parts: AnswerParts
  #model = ""
  #stopReason: string | null = null
  readonly #usage: Partial<Record<(typeof buckets)[number], number | null>> = {}
  #started = false
  #stopped = false

  constructor(parts: AnswerParts) {
    this.#parts = parts
  }

  get ended(): boolean {
    return this.#stopped
  }

  finish(): Answer {
    if (!this.#stopped) throw incomplete(this.#parts.requestId)
    const stopReason = this.#stopReason === null ? undefined : stopReasons[this.#stopReason]
    if (stopReason === undefined) throw unexpectedStop(String(this.#stopReason), this.#parts.requestId)
    return {
      parts: this.#parts.whole(),
      stopReason,
      usage: this.#reported(),
      model: this.#model,
      ...(this.#parts.requestId !== undefined && { requestId: this.#parts.requestId }),
    }
  }

  event(data: string): void {
    if (this.#stopped) return
    // Nearly all events of a long answer are deltas in the servers' standard spelling: parsing them fully would be most
    // of the cost. Done inline and by slices, because V8 compiles each small function on such a path once for itself
    // and once for its caller, and a character search into far more code.
    const start = data.indexOf('":"', AFTER_KIND) + 3
    const infix = data.slice(INDEX_AT + 1, start)
    if (infix === TEXT_INFIX || infix === INPUT_INFIX || infix === THINKING_INFIX) {
      const isWhole = data.slice(0, INDEX_AT) === DELTA_PREFIX && data.slice(-3) === '"}}'
      const text = isWhole ? unescaped(data.slice(start, -3)) : undefined
      if (text !== undefined) {
        this.#parts.grow(Number(data[INDEX_AT]), text)
        return
      }
    }
    const event = parseEvent(data, this.#parts.requestId)
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
        this.#parts.close(indexOf(event))
        break
      case "message_delta":
        if (isJsonObject(event.delta) && typeof event.delta.stop_reason === "string")
          this.#stopReason = event.delta.stop_reason
        if (isJsonObject(event.usage)) this.#addUsage(event.usage)
        break
      case "message_stop":
        if (this.#parts.anyOpen) throw malformed("it stopped inside a block", this.#parts.requestId)
        this.#stopped = true
        break
      case "error": {
        const error = isJsonObject(event.error) ? event.error : {}
        throw streamFailure(String(error.type), String(error.message), this.#parts.requestId)
      }
      // New event types may appear at any time, and `ping` does: the protocol requires skipping them.
    }
  }

  #start(event: JsonObject): void {
    if (this.#started) throw malformed("it started twice", this.#parts.requestId)
    this.#started = true
    if (!isJsonObject(event.message)) return
    this.#model = String(event.message.model ?? "")
    if (isJsonObject(event.message.usage)) this.#addUsage(event.message.usage)
  }

  #openBlock(event: JsonObject): void {
    const start = event.content_block
    if (!this.#started || !isJsonObject(start) || event.index !== this.#parts.count)
      throw malformed("a block out of order", this.#parts.requestId)
    switch (start.type) {
      case "tool_use":
        this.#parts.openCall(String(start.id), String(start.name), start.input)
        break
      case "thinking":
        this.#parts.openReasoning(String(start.thinking ?? ""), String(start.signature ?? ""))
        break
      case "redacted_thinking":
        this.#parts.openReasoning("", { redacted: start.data ?? null })
        break
      case "text":
        this.#parts.openText(String(start.text ?? ""))
        break
      default:
        this.#parts.openOther()
    }
  }

  #delta(event: JsonObject): void {
    const { delta } = event
    const index = indexOf(event)
    if (!isJsonObject(delta)) throw malformed("a delta without content", this.#parts.requestId)
    if (delta.type === "text_delta") this.#parts.grow(index, String(delta.text))
    else if (delta.type === "thinking_delta") this.#parts.grow(index, String(delta.thinking))
    else if (delta.type === "input_json_delta") this.#parts.grow(index, String(delta.partial_json))
    else if (delta.type === "signature_delta") this.#parts.addOpaque(index, String(delta.signature))
  }

  #addUsage(usage: JsonObject): void {
    // Later reports are totals that replace earlier ones, and omit unchanged values.
    for (const bucket of buckets) this.#usage[bucket] = count(usage[bucket]) ?? this.#usage[bucket] ?? null
    this.#parts.accept(this.#reported())
  }

  #reported(): Usage {
    return {
      inputTokens: this.#usage.input_tokens ?? null,
      outputTokens: this.#usage.output_tokens ?? null,
      cacheReadTokens: this.#usage.cache_read_input_tokens ?? 0,
      cacheWriteTokens: this.#usage.cache_creation_input_tokens ?? 0,
      costUsd: null,
    }
  }
}

/** A one-digit index follows, then the kind of delta. */
const DELTA_PREFIX = '{"type":"content_block_delta","index":'
const TEXT_INFIX = ',"delta":{"type":"text_delta","text":"'
const INPUT_INFIX = ',"delta":{"type":"input_json_delta","partial_json":"'
const THINKING_INFIX = ',"delta":{"type":"thinking_delta","thinking":"'
const INDEX_AT = DELTA_PREFIX.length
const AFTER_KIND = INDEX_AT + ',"delta":{"type":"'.length + 1

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

function indexOf({ index }: JsonObject): number {
  return typeof index === "number" ? index : -1
}
