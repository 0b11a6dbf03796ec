import type { Json } from "../../contract/json.ts"
import type { Answer, AnswerSink, StopReason } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { AnswerParts } from "../answer-parts.ts"
import { brokenOff, incomplete, malformed, unexpectedStop } from "../failure.ts"
import { failureOf, type Source } from "./failure.ts"
import type { AiSdkPart, AiSdkUsage } from "./model.ts"
import type { SealedReasoning } from "./request.ts"

/** Reads the parts of one stream. */
export class AiSdkReader {
  readonly #source: Source
  readonly #parts: AnswerParts
  /** The open texts and thoughts, by kind and id. */
  readonly #growing = new Map<string, Growing>()
  readonly #sealed = new Map<number, SealedReasoning>()
  /** The last part, if it is a thought. */
  #thought: number | undefined
  readonly #calls = new Set<string>()
  #finish: AiSdkPart | undefined

  constructor(sink: AnswerSink, source: Source) {
    this.#source = source
    this.#parts = new AnswerParts(sink)
    this.#parts.requestId = source.requestId
  }

  push(part: AiSdkPart): void {
    switch (part.type) {
      case "response-metadata":
        this.#source.requestId ??= part.id
        this.#parts.requestId = this.#source.requestId
        this.#source.model = part.modelId ?? this.#source.model
        break
      case "text-start":
      case "reasoning-start":
        this.#open(part)
        break
      case "text-delta":
      case "reasoning-delta":
        this.#grow(part, part.delta ?? "")
        this.#seal(part)
        break
      case "text-end":
      case "reasoning-end":
        this.#seal(part)
        this.#growing.delete(keyOf(part))
        break
      case "tool-call":
        // The provider runs these itself: their outcome is in its next text.
        if (part.providerExecuted !== true) this.#call(part)
        break
      case "finish":
        this.#finish = part
        break
      case "error":
        throw failureOf(part.error, this.#source)
      // Other parts, such as sources, files and partial arguments, are not passed on.
    }
    this.#parts.deliver()
  }

  finish(): Answer {
    const { requestId, model } = this.#source
    const stopReason = this.#stopReason()
    this.#parts.closeAll()
    return {
      parts: this.#parts.whole(),
      stopReason,
      usage: usageOf(this.#finish?.usage),
      model,
      ...(requestId !== undefined && { requestId }),
    }
  }

  #stopReason(): StopReason {
    const { requestId } = this.#source
    const { unified, raw } = this.#finish?.finishReason ?? { unified: "interrupted", raw: undefined }
    // Packages end the stream of a cut connection with a finish without a reason.
    if (unified === "interrupted" || (unified === "other" && raw === undefined)) throw incomplete(requestId)
    if (unified === "error") throw brokenOff("provider_error", raw ?? "no reason given", requestId)
    const stopReason = byRaw[raw ?? ""] ?? byUnified[unified]
    if (stopReason === undefined) throw unexpectedStop(raw ?? unified, requestId)
    return stopReason
  }

  /** A repeated start counts once. Many packages start a text without content: it begins with its first words. */
  #open(part: AiSdkPart): void {
    if (this.#growing.has(keyOf(part))) return
    const isText = part.type === "text-start"
    if (!isText) this.#thought = this.#parts.openReasoning()
    this.#growing.set(keyOf(part), { index: isText ? undefined : this.#thought, thought: this.#thought })
    this.#seal(part)
  }

  #grow(part: AiSdkPart, delta: string): void {
    const growing = this.#growing.get(keyOf(part))
    if (growing === undefined) throw malformed("it adds to a part that is not open", this.#source.requestId)
    if (delta === "") return
    if (growing.index === undefined) {
      growing.index = this.#parts.openText()
      this.#thought = undefined
    }
    this.#parts.grow(growing.index, delta)
  }

  #call({ toolCallId = "", toolName = "", input = "", providerMetadata }: AiSdkPart): void {
    const key = JSON.stringify([toolCallId, toolName, input])
    if (this.#calls.has(key)) return
    this.#calls.add(key)
    this.#thought = undefined
    const index = this.#parts.openCall(toolCallId, toolName)
    this.#parts.grow(index, input)
    if (providerMetadata !== undefined) this.#parts.addOpaque(index, jsonOf(providerMetadata))
    this.#parts.close(index)
  }

  /** Opaque provider data. The last value of a part applies, as in the AI SDK itself. */
  #seal(part: AiSdkPart): void {
    const index = this.#growing.get(keyOf(part))?.thought
    if (part.providerMetadata === undefined || index === undefined) return
    const data = jsonOf(part.providerMetadata)
    const sealed = { ...this.#sealed.get(index), ...(part.type.startsWith("text") ? { text: data } : { own: data }) }
    this.#sealed.set(index, sealed)
    // Texts and thoughts stay open to the end: their signature may come later.
    this.#parts.addOpaque(index, sealed)
  }
}

interface Growing {
  /** Absent: no content yet. */
  index: number | undefined
  /** The part itself, or the thought right before a text: a text cannot carry opaque data. */
  readonly thought: number | undefined
}

const byUnified: Readonly<Record<string, StopReason>> = {
  stop: "end",
  "tool-calls": "tool-calls",
  length: "output-limit",
  "content-filter": "refusal",
}

/** Reasons without a unified equivalent. */
const byRaw: Readonly<Record<string, StopReason>> = {
  pause_turn: "pause",
  model_context_window_exceeded: "context-overflow",
}

/** `noCache` is the rest of the total; if a package omits it, it is computed. */
function usageOf(usage: AiSdkUsage | undefined): Usage {
  const { total, noCache, cacheRead = 0, cacheWrite = 0 } = usage?.inputTokens ?? {}
  return {
    inputTokens: noCache ?? (total === undefined ? null : Math.max(0, total - cacheRead - cacheWrite)),
    outputTokens: usage?.outputTokens.total ?? null,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    costUsd: null,
  }
}

function keyOf({ type, id }: AiSdkPart): string {
  return `${type.startsWith("text") ? "text" : "reasoning"} ${id}`
}

/** A plain JSON copy: it goes into the journal. */
function jsonOf(data: object): Json {
  const copy: Json = JSON.parse(JSON.stringify(data))
  return copy
}
