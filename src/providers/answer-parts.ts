import type { Json } from "../contract/json.ts"
import type { AnswerPart, AnswerSink } from "../contract/provider.ts"
import type { Usage } from "../contract/result.ts"
import { MAX_CHARACTERS } from "../lib/schema/argument-size.ts"
import { malformed } from "./failure.ts"

/**
 * The parts of one answer while it streams, in the model's order. Deltas that arrive together are stored and delivered
 * together. A call is delivered only when its arguments are complete.
 */
export class AnswerParts {
  /** The provider's request id, once known. */
  requestId: string | undefined
  /** Grows with each piece of content. */
  progress = 0
  readonly #sink: AnswerSink
  readonly #parts: Part[] = []
  #pending = ""
  #pendingIndex = 0

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  get count(): number {
    return this.#parts.length
  }

  get anyOpen(): boolean {
    return this.#parts.some(({ whole }) => whole === null)
  }

  /** The provider answers. `usage`: what it has reported so far. */
  accept(usage?: Usage): void {
    this.#sink.accepted?.(usage)
  }

  openText(text = ""): number {
    return this.#open({ kind: "text", text, whole: null })
  }

  openReasoning(text = "", opaque?: Json): number {
    return this.#open({ kind: "reasoning", text, whole: null, opaque })
  }

  /** `args`: used if no delta follows. */
  openCall(wireId: string, name: string, args: Json = {}): number {
    return this.#open({ kind: "call", text: "", whole: null, wireId, name, args })
  }

  /** A part of an unknown kind: its content is dropped, and it keeps its position. */
  openOther(): number {
    return this.#open({ kind: "other", text: "", whole: null })
  }

  grow(index: number, text: string): void {
    if (index !== this.#pendingIndex) this.deliver()
    this.#pendingIndex = index
    this.#pending += text
  }

  /** Opaque data of a part; a string is appended to the previous one. */
  addOpaque(index: number, opaque: Json): void {
    const part = this.#openAt(index)
    part.opaque = typeof part.opaque === "string" && typeof opaque === "string" ? part.opaque + opaque : opaque
  }

  /** Stores and delivers the content since the last time. */
  deliver(): void {
    if (this.#pending === "") return
    const delta = this.#pending
    this.#pending = ""
    const part = this.#openAt(this.#pendingIndex)
    this.progress++
    if (part.kind !== "other") part.text += delta
    if (part.kind === "text" || part.kind === "reasoning") this.#sink.delta?.(part.kind, this.#pendingIndex, delta)
    else this.#sink.unfinished?.(delta.length)
  }

  close(index: number): void {
    this.deliver()
    const part = this.#openAt(index)
    part.whole = wholeOf(part)
    if (part.whole.type === "tool-call") this.#sink.call?.(part.whole, index)
  }

  /** Closes a call whose arguments are complete, for protocols that do not mark its end. */
  closeIfWhole(index: number): void {
    this.deliver()
    const { text, whole } = this.#parts[index] ?? { text: "", whole: null }
    if (whole === null && isWholeJson(text)) this.close(index)
  }

  /** For protocols that do not mark the end of a part. */
  closeAll(): void {
    for (const [index, { whole }] of this.#parts.entries()) if (whole === null) this.close(index)
  }

  /** Every part is closed. */
  whole(): readonly AnswerPart[] {
    const parts: AnswerPart[] = []
    for (const { whole } of this.#parts) if (whole) parts.push(whole)
    return parts
  }

  #open(part: Part): number {
    this.deliver()
    this.progress++
    const index = this.#parts.push(part) - 1
    if (part.kind === "text" || part.kind === "reasoning") this.#sink.partStart?.(part.kind, index)
    return index
  }

  #openAt(index: number): Part {
    const part = this.#parts[index]
    if (part === undefined || part.whole !== null)
      throw malformed("it refers to a block that is not open", this.requestId)
    return part
  }
}

interface Part {
  readonly kind: "text" | "reasoning" | "call" | "other"
  /** The accumulated deltas: text, reasoning or the JSON of a call's arguments. */
  text: string
  opaque?: Json | undefined
  readonly wireId?: string
  readonly name?: string
  readonly args?: Json
  /** Null while it is open. */
  whole: AnswerPart | null
}

/** Only white space can follow a complete object. */
function isWholeJson(text: string): boolean {
  if (text.length > MAX_CHARACTERS || !text.trimEnd().endsWith("}")) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function wholeOf({ kind, text, opaque, wireId = "", name = "", args = {} }: Part): AnswerPart {
  if (kind === "text" || kind === "other") return { type: "text", text }
  const sealed = opaque === undefined ? {} : { opaque }
  if (kind === "reasoning") return { type: "reasoning", text, ...sealed }
  if (text.length > MAX_CHARACTERS) {
    return { type: "tool-call", wireId, name, args: null, invalid: "The arguments are too long.", ...sealed }
  }
  // Not `{ ...call, args }`: a spread with additions creates a new hidden class each time.
  try {
    const parsed: Json = text.trim() === "" ? args : JSON.parse(text)
    return { type: "tool-call", wireId, name, args: parsed, ...sealed }
  } catch {
    return { type: "tool-call", wireId, name, args: null, invalid: "The arguments are not valid JSON.", ...sealed }
  }
}
