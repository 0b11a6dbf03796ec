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
  /** The texts and thoughts that still grow, by kind and id. */
  readonly #growing = new Map<string, Growing>()
  readonly #sealed = new Map<number, SealedReasoning>()
  /** The last part, where it is a thought. */
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
        // The provider runs these itself: their outcome is in what it says next.
        if (part.providerExecuted !== true) this.#call(part)
        break
      case "finish":
        this.#finish = part
        break
      case "error":
        throw failureOf(part.error, this.#source)
      // The rest, such as sources, files and arguments on their way, is nothing that we hand on.
    }
    this.#parts.tell()
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
    // Packages end the stream of a connection that was cut with a finish that has no reason.
    if (unified === "interrupted" || (unified === "other" && raw === undefined)) throw incomplete(requestId)
    if (unified === "error") throw brokenOff("provider_error", raw ?? "no reason given", requestId)
    const stopReason = byRaw[raw ?? ""] ?? byUnified[unified]
    if (stopReason === undefined) throw unexpectedStop(raw ?? unified, requestId)
    return stopReason
  }

  /** A start that comes twice is one. Many packages start a text for nothing: it begins with its first words. */
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
    const told = JSON.stringify([toolCallId, toolName, input])
    if (this.#calls.has(told)) return
    this.#calls.add(told)
    this.#thought = undefined
    const index = this.#parts.openCall(toolCallId, toolName)
    this.#parts.grow(index, input)
    if (providerMetadata !== undefined) this.#parts.addOpaque(index, jsonOf(providerMetadata))
    this.#parts.close(index)
  }

  /** What only the package can read. The last that is told of a part counts, as in the AI SDK itself. */
  #seal(part: AiSdkPart): void {
    const index = this.#growing.get(keyOf(part))?.thought
    if (part.providerMetadata === undefined || index === undefined) return
    const data = jsonOf(part.providerMetadata)
    const sealed = { ...this.#sealed.get(index), ...(part.type.startsWith("text") ? { text: data } : { own: data }) }
    this.#sealed.set(index, sealed)
    // Texts and thoughts stay open to the end: what seals one may come after it.
    this.#parts.addOpaque(index, sealed)
  }
}

interface Growing {
  /** Absent: nothing has come yet. */
  index: number | undefined
  /** Itself, or the thought right before a text: a text has no place for what only its package can read. */
  readonly thought: number | undefined
}

const byUnified: Readonly<Record<string, StopReason>> = {
  stop: "end",
  "tool-calls": "tool-calls",
  length: "output-limit",
  "content-filter": "refusal",
}

/** What the unified reasons have no word for. */
const byRaw: Readonly<Record<string, StopReason>> = {
  pause_turn: "pause",
  model_context_window_exceeded: "context-overflow",
}

/** `noCache` is what is left of the total; packages that do not say it leave it to be worked out. */
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

/** A copy that is JSON and nothing else: it goes into the journal. */
function jsonOf(data: object): Json {
  const copy: Json = JSON.parse(JSON.stringify(data))
  return copy
}
