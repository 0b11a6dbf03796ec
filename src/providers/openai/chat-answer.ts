import type { Json, JsonObject } from "../../contract/json.ts"
import type { Answer, StopReason } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { AnswerParts } from "../answer-parts.ts"
import type { AnswerReader } from "../converse.ts"
import { brokenOff, incomplete, malformed, unexpectedStop } from "../failure.ts"
import { parseEvent } from "../json.ts"
import { REASONING_FIELD } from "./chat-request.ts"
import { streamFailure } from "./failure.ts"
import { usageOf } from "./usage.ts"

/** Reads one Chat Completions stream, including those of lenient servers. */
export class ChatReader implements AnswerReader {
  readonly #parts: AnswerParts
  /** The part that further text or reasoning is added to. */
  #prose: { readonly kind: string; readonly part: number } | null = null
  readonly #calls = new Map<number, { readonly id: string; readonly part: number }>()
  #lastCall = -1
  #model = ""
  #finishReason: string | null = null
  #refused = false
  #usage: JsonObject | undefined
  #done = false

  constructor(parts: AnswerParts) {
    this.#parts = parts
  }

  get ended(): boolean {
    return this.#done && this.#finishReason !== null
  }

  /** Complete with its finish reason: not every server sends `[DONE]`. */
  finish(): Answer {
    if (this.#finishReason === null) throw incomplete(this.#parts.requestId)
    return {
      parts: this.#parts.whole(),
      stopReason: this.#stopReason(this.#finishReason),
      usage: usageOf(this.#usage),
      model: this.#model,
      ...(this.#parts.requestId !== undefined && { requestId: this.#parts.requestId }),
    }
  }

  event(data: string): void {
    if (this.#done) return
    if (data === "[DONE]") {
      this.#done = true
      return
    }
    const event = parseEvent(data, this.#parts.requestId)
    if (event.error !== undefined && event.error !== null) throw streamFailure(event.error, this.#parts.requestId)
    if (this.#model === "" && typeof event.model === "string") this.#model = event.model
    // Usage comes with the last chunks or with each one; the last report is the total.
    if (isJsonObject(event.usage)) {
      this.#usage = event.usage
      this.#parts.accept(usageOf(this.#usage))
    }
    const choice = Array.isArray(event.choices) ? event.choices[0] : undefined
    if (!isJsonObject(choice)) return
    if (isJsonObject(choice.delta)) this.#delta(choice.delta)
    if (isText(choice.finish_reason)) {
      this.#finishReason = choice.finish_reason
      this.#parts.closeAll()
    }
  }

  #delta({ content, refusal, reasoning, tool_calls: calls, ...rest }: JsonObject): void {
    // Some send their reasoning under both names.
    if (isText(rest[REASONING_FIELD])) this.#grow("reasoning", rest[REASONING_FIELD], { field: REASONING_FIELD })
    else if (isText(reasoning)) this.#grow("reasoning", reasoning)
    if (isText(content)) this.#grow("text", content)
    if (isText(refusal)) {
      this.#refused = true
      this.#grow("text", refusal)
    }
    if (Array.isArray(calls)) for (const call of calls) if (isJsonObject(call)) this.#callDelta(call)
  }

  #grow(kind: "text" | "reasoning", text: string, opaque?: Json): void {
    if (this.#prose?.kind !== kind) {
      if (this.#prose !== null) this.#parts.close(this.#prose.part)
      const part = kind === "text" ? this.#parts.openText() : this.#parts.openReasoning("", opaque)
      this.#prose = { kind, part }
    }
    this.#parts.grow(this.#prose.part, text)
  }

  #callDelta({ index, id, function: called }: JsonObject): void {
    const { name, arguments: args } = isJsonObject(called) ? called : {}
    const at = typeof index === "number" ? index : isText(name) ? this.#lastCall + 1 : this.#lastCall
    const known = this.#calls.get(at)
    // Some servers do not number their calls: only the id distinguishes them.
    const isOther = known !== undefined && isText(id) && known.id !== id
    const part = known === undefined || isOther ? this.#openCall(at, id, name) : known.part
    const text = isJsonObject(args) ? JSON.stringify(args) : args
    if (isText(text)) this.#parts.grow(part, text)
  }

  #openCall(at: number, given: Json | undefined, name: Json | undefined): number {
    if (!isText(name)) throw malformed("a call without a name", this.#parts.requestId)
    if (this.#prose !== null) this.#parts.close(this.#prose.part)
    this.#prose = null
    // Most servers send one call after the other, some interleave pieces of several.
    for (const call of this.#calls.values()) this.#parts.closeIfWhole(call.part)
    const id = isText(given) ? given : `call_${this.#parts.count}`
    const part = this.#parts.openCall(id, name)
    this.#calls.set(at, { id, part })
    this.#lastCall = at
    return part
  }

  #stopReason(reason: string): StopReason {
    const fault = faults[reason]
    if (fault !== undefined) throw brokenOff(fault, reason, this.#parts.requestId)
    const known = stopReasons[reason]
    if (known === undefined) throw unexpectedStop(reason, this.#parts.requestId)
    if (known !== "end") return known
    // The calls decide: some servers do not report a stop for calls, others always do.
    if (this.#calls.size > 0) return "tool-calls"
    return this.#refused ? "refusal" : "end"
  }
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  stop: "end",
  tool_calls: "end",
  function_call: "end",
  length: "output-limit",
  content_filter: "refusal",
}

/** Finish reasons of servers that failed themselves: a router's, and DeepSeek's. */
const faults: Readonly<Record<string, "provider_error" | "overloaded">> = {
  error: "provider_error",
  insufficient_system_resource: "overloaded",
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string" && value !== ""
}
