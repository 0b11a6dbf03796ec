import type { Json, JsonObject } from "../../contract/json.ts"
import type { Answer, StopReason } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { AnswerParts } from "../answer-parts.ts"
import type { AnswerReader } from "../converse.ts"
import { brokenOff, incomplete, malformed, unexpectedStop } from "../failure.ts"
import { count, parseEvent } from "../json.ts"
import { streamFailure } from "./failure.ts"

/**
 * Reads one streamGenerateContent stream. It has no end mark: it is complete with a finish reason and a properly ended
 * body.
 */
export class GoogleReader implements AnswerReader {
  readonly #parts: AnswerParts
  #model: string
  /** The open text or thought. */
  #growing: { readonly kind: "text" | "reasoning"; readonly index: number } | null = null
  #lastSignature = ""
  #calls = 0
  /** By the server's own id, if present. */
  readonly #callIds = new Set<string>()
  #finishReason: string | null = null
  #blocked = false
  readonly #usage: Partial<Record<(typeof counts)[number], number | null>> = {}

  constructor(parts: AnswerParts, model: string) {
    this.#parts = parts
    this.#model = model
  }

  /** The protocol has no end mark, and usage may follow the finish reason. */
  readonly ended = false

  finish(): Answer {
    const stopReason = this.#stopReason()
    this.#parts.closeAll()
    return {
      parts: this.#parts.whole(),
      stopReason,
      usage: usageOf(this.#usage),
      model: this.#model,
      ...(this.#parts.requestId !== undefined && { requestId: this.#parts.requestId }),
    }
  }

  #stopReason(): StopReason {
    const reason = this.#finishReason
    if (reason === null) {
      if (this.#blocked) return "refusal"
      throw incomplete(this.#parts.requestId)
    }
    // Retryable, unlike an unknown reason: the model made a mistake that it rarely repeats.
    if (slips.has(reason))
      throw brokenOff("provider_error", `the model's answer was malformed (${reason})`, this.#parts.requestId)
    const stopReason = stopReasons[reason]
    if (stopReason === undefined) throw unexpectedStop(reason, this.#parts.requestId)
    return stopReason === "end" && this.#calls > 0 ? "tool-calls" : stopReason
  }

  event(data: string): void {
    const chunk = parseEvent(data, this.#parts.requestId)
    if (typeof chunk.responseId === "string") this.#parts.requestId ??= chunk.responseId
    if (isJsonObject(chunk.error)) throw streamFailure(chunk.error, this.#parts.requestId)
    if (typeof chunk.modelVersion === "string") this.#model = chunk.modelVersion
    if (isJsonObject(chunk.usageMetadata)) this.#addUsage(chunk.usageMetadata)
    if (isJsonObject(chunk.promptFeedback) && typeof chunk.promptFeedback.blockReason === "string") this.#blocked = true
    const [candidate] = listOf(chunk.candidates)
    // Only usage follows a finish reason: a body that starts again repeats an answer and its calls.
    if (!isJsonObject(candidate) || this.#finishReason !== null) return
    if (isJsonObject(candidate.content)) for (const part of listOf(candidate.content.parts)) this.#part(part)
    if (typeof candidate.finishReason === "string") this.#finishReason = candidate.finishReason
  }

  /** Parts of the server's own tools are skipped. */
  #part(part: Json): void {
    if (!isJsonObject(part)) throw malformed("a part without content", this.#parts.requestId)
    const signature = typeof part.thoughtSignature === "string" ? part.thoughtSignature : ""
    if (isJsonObject(part.functionCall)) this.#call(part.functionCall, signature)
    else if (typeof part.text === "string") this.#text(part.text, part.thought === true, signature)
  }

  /** Calls arrive complete, and without an id from older models. */
  #call({ id, name, args }: JsonObject, signature: string): void {
    if (typeof name !== "string") throw malformed("a call without a name", this.#parts.requestId)
    if (typeof id === "string" && id !== "") {
      if (this.#callIds.has(id)) throw malformed("two calls with one id", this.#parts.requestId)
      this.#callIds.add(id)
    }
    this.#closeGrowing()
    const number = this.#calls++
    const index = this.#parts.openCall(typeof id === "string" && id !== "" ? id : `call_${number}`, name, args)
    if (signature !== "") this.#parts.addOpaque(index, signature)
    this.#parts.close(index)
  }

  #text(text: string, isThought: boolean, signature: string): void {
    const kind = isThought ? "reasoning" : "text"
    if (text !== "") this.#parts.grow(this.#growingOf(kind), text)
    if (signature === "" || signature === this.#lastSignature) return
    this.#lastSignature = signature
    // A signed part is complete: the next content is a new part.
    if (isThought) this.#parts.addOpaque(this.#growingOf(kind), signature)
    this.#closeGrowing()
    // A text cannot carry opaque data: an empty thought after it does.
    if (!isThought) this.#parts.close(this.#parts.openReasoning("", { text: signature }))
  }

  #growingOf(kind: "text" | "reasoning"): number {
    if (this.#growing?.kind !== kind) {
      this.#closeGrowing()
      const index = kind === "text" ? this.#parts.openText() : this.#parts.openReasoning()
      this.#growing = { kind, index }
    }
    return this.#growing.index
  }

  #closeGrowing(): void {
    if (this.#growing !== null) this.#parts.close(this.#growing.index)
    this.#growing = null
  }

  #addUsage(usage: JsonObject): void {
    // Each report is a total that replaces the previous one; zeros are omitted.
    for (const name of counts) this.#usage[name] = count(usage[name]) ?? this.#usage[name] ?? null
    this.#parts.accept(usageOf(this.#usage))
  }
}

const counts = [
  "promptTokenCount",
  "cachedContentTokenCount",
  "toolUsePromptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
] as const

/** The prompt's count includes cached tokens; thoughts are not in the candidates' count. */
function usageOf(reported: Partial<Record<(typeof counts)[number], number | null>>): Usage {
  const { promptTokenCount: prompt = null, candidatesTokenCount: candidates, thoughtsTokenCount: thoughts } = reported
  const cached = reported.cachedContentTokenCount ?? 0
  return {
    inputTokens: prompt === null ? null : prompt - cached + (reported.toolUsePromptTokenCount ?? 0),
    outputTokens: prompt === null ? null : (candidates ?? 0) + (thoughts ?? 0),
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
    costUsd: null,
  }
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  STOP: "end",
  MAX_TOKENS: "output-limit",
  // The maximum of one request was reached, with more to come.
  CONTINUATION: "output-limit",
  SAFETY: "refusal",
  RECITATION: "refusal",
  BLOCKLIST: "refusal",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  IMAGE_SAFETY: "refusal",
}

const slips: ReadonlySet<string> = new Set(["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"])

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
