import type { Json, JsonObject } from "../../contract/json.ts"
import type { Answer, StopReason } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { AnswerParts } from "../answer-parts.ts"
import type { AnswerReader } from "../converse.ts"
import { incomplete, malformed, unexpectedStop } from "../failure.ts"
import { parseEvent, unescaped } from "../json.ts"
import { streamFailure } from "./failure.ts"
import { usageOf } from "./usage.ts"

/** Reads one Responses stream. */
export class ResponsesReader implements AnswerReader {
  readonly #parts: AnswerParts
  /** By `output_index`; null: an unknown kind. */
  readonly #items = new Map<number, Item | null>()
  #called = false
  #refused = false
  /** The summary in the last event of the stream. */
  #ended: { readonly response: JsonObject; readonly cutFor: string | undefined } | undefined
  #model = ""

  constructor(parts: AnswerParts) {
    this.#parts = parts
  }

  get ended(): boolean {
    return this.#ended !== undefined
  }

  finish(): Answer {
    if (this.#ended === undefined) throw incomplete(this.#parts.requestId)
    const { response, cutFor } = this.#ended
    return {
      parts: this.#parts.whole(),
      stopReason: this.#stopReason(cutFor),
      usage: usageOf(isJsonObject(response.usage) ? response.usage : undefined),
      model: typeof response.model === "string" ? response.model : this.#model,
      ...(this.#parts.requestId !== undefined && { requestId: this.#parts.requestId }),
    }
  }

  event(data: string): void {
    if (this.#ended !== undefined) return
    // Nearly all events of a long answer are these: parsing them fully would be most of the cost.
    const plain = plainDelta(data)
    if (plain !== undefined) {
      this.#grow(plain.index, plain.text)
      return
    }
    const event = parseEvent(data, this.#parts.requestId)
    switch (event.type) {
      case "response.created":
        if (isJsonObject(event.response)) this.#model = String(event.response.model ?? "")
        break
      case "response.output_item.added":
        this.#openItem(event)
        break
      case "response.refusal.delta":
        this.#refused = true
        this.#grow(event.output_index, event.delta)
        break
      case "response.output_text.delta":
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
      case "response.function_call_arguments.delta":
        this.#grow(event.output_index, event.delta)
        break
      case "response.reasoning_summary_part.added":
        if (Number(event.summary_index) > 0) this.#grow(event.output_index, "\n\n")
        break
      case "response.output_item.done":
        this.#closeItem(event)
        break
      case "response.completed":
      case "response.incomplete":
        this.#end(event)
        break
      case "response.failed":
        throw streamFailure(isJsonObject(event.response) ? event.response.error : undefined, this.#parts.requestId)
      case "error":
        throw streamFailure(event.error ?? event, this.#parts.requestId)
      // The other events repeat these, or report features that we did not request.
    }
  }

  #openItem({ output_index: index, item }: JsonObject): void {
    if (typeof index !== "number" || !isJsonObject(item))
      throw malformed("an item without content", this.#parts.requestId)
    if (this.#items.has(index)) return
    const part = this.#openPart(item)
    this.#items.set(index, part === undefined ? null : { part, hasGrown: false, isClosed: false })
  }

  #openPart(item: JsonObject): number | undefined {
    switch (item.type) {
      case "message":
        return this.#parts.openText()
      case "reasoning":
        return this.#parts.openReasoning()
      case "function_call":
        this.#called = true
        return this.#parts.openCall(String(item.call_id ?? item.id), String(item.name))
    }
    return undefined
  }

  #grow(index: Json | undefined, text: Json | undefined): void {
    const item = this.#itemAt(index)
    if (item === null) return
    item.hasGrown = true
    this.#parts.grow(item.part, String(text))
  }

  #closeItem({ output_index: index, item: whole }: JsonObject): void {
    const item = this.#itemAt(index)
    if (item === null || item.isClosed || !isJsonObject(whole)) return
    item.isClosed = true
    // Some servers send no deltas at all.
    if (!item.hasGrown) this.#parts.grow(item.part, this.#wholeText(whole))
    if (typeof whole.encrypted_content === "string") this.#parts.addOpaque(item.part, sealed(whole))
    this.#parts.close(item.part)
  }

  #wholeText({ type, content, summary, arguments: args }: JsonObject): string {
    if (type === "function_call") return String(args ?? "")
    if (type === "reasoning") return textsOf(summary).join("\n\n")
    if (textsOf(content, "refusal").length > 0) this.#refused = true
    return [...textsOf(content), ...textsOf(content, "refusal")].join("")
  }

  #itemAt(index: Json | undefined): Item | null {
    const item = typeof index === "number" ? this.#items.get(index) : undefined
    if (item === undefined) throw malformed("it refers to an item that does not exist", this.#parts.requestId)
    return item
  }

  #end(event: JsonObject): void {
    const response = isJsonObject(event.response) ? event.response : {}
    const details = isJsonObject(response.incomplete_details) ? response.incomplete_details : {}
    const cutFor = event.type === "response.incomplete" ? String(details.reason) : undefined
    // A cut item may still be open.
    this.#parts.closeAll()
    this.#ended = { response, cutFor }
  }

  #stopReason(cutFor: string | undefined): StopReason {
    if (cutFor === "max_output_tokens") return "output-limit"
    if (cutFor === "content_filter") return "refusal"
    if (cutFor !== undefined) throw unexpectedStop(cutFor, this.#parts.requestId)
    if (this.#called) return "tool-calls"
    return this.#refused ? "refusal" : "end"
  }
}

interface Item {
  readonly part: number
  hasGrown: boolean
  isClosed: boolean
}

/** A delta in OpenAI's spelling; anything else is parsed fully. */
function plainDelta(data: string): { readonly index: number; readonly text: string } | undefined {
  if (!data.startsWith(TEXT_DELTA) && !data.startsWith(ARGUMENTS_DELTA)) return undefined
  const at = data.indexOf(OUTPUT_INDEX) + OUTPUT_INDEX.length
  const infix = deltaInfixes.find((candidate) => data.startsWith(candidate, at + 1))
  if (infix === undefined || !data.endsWith("}")) return undefined
  const start = at + 1 + infix.length
  let end = data.indexOf('"', start)
  // Skips quotes that belong to the text.
  while (data[end - 1] === "\\") end = data.indexOf('"', end + 1)
  const text = end === -1 ? undefined : unescaped(data.slice(start, end))
  return text === undefined ? undefined : { index: Number(data[at]), text }
}

const TEXT_DELTA = '{"type":"response.output_text.delta","sequence_number":'
const ARGUMENTS_DELTA = '{"type":"response.function_call_arguments.delta","sequence_number":'
const OUTPUT_INDEX = '","output_index":'
const deltaInfixes = [',"content_index":0,"delta":"', ',"delta":"']

/**
 * The data that the model needs to recognise its thoughts; the summary only if the text does not separate its parts.
 */
function sealed({ id, encrypted_content, summary }: JsonObject): Json {
  return {
    ...(typeof id === "string" && { id }),
    encrypted_content: encrypted_content ?? null,
    ...(Array.isArray(summary) && summary.length > 1 && { summary }),
  }
}

function textsOf(list: Json | undefined, key = "text"): readonly string[] {
  const blocks: readonly Json[] = Array.isArray(list) ? list : []
  return blocks.flatMap((block) => (isJsonObject(block) && typeof block[key] === "string" ? [block[key]] : []))
}
