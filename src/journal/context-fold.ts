import type { MeasuredContext, PastCompaction, TurnMessage } from "../contract/compaction.ts"
import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { AssistantMessage, Message, ToolResultPart } from "../contract/message.ts"
import type { Usage } from "../contract/result.ts"
import { compacted, firstKept } from "../lib/compaction/compacted.ts"
import { contextTokens } from "../lib/usage.ts"

export type CompactionRecord = RunRecord & {
  readonly type: "compaction-request" | "compaction-start" | "compaction"
}

/** The conversation of a run, each message with its turn, and what is known about its size. */
export class ContextFold {
  /** The last compactions with the model in use, oldest first. */
  recent: readonly PastCompaction[] = []
  /** The window that a refused request of that model revealed. */
  learnedWindow: number | undefined
  /** The longest request that the model has accepted. */
  accepted = 0
  /** True between the start of a compaction and its end. */
  isOpen = false
  /** True if the host asked for a compaction that was not made yet. */
  isAsked = false
  isCompacted = false
  /** Null after `handOver`. */
  #said: TurnMessage[] | null = []
  /** The parts of the current answer. */
  #parts: AssistantMessage["content"][number][] = []
  /** Messages that arrived during a step: the model receives them after the results of the step. */
  #deferred: Message[] = []
  /** The tokens of a request that contained the first `count` messages. */
  #measured: { readonly tokens: number; readonly count: number } | undefined
  /** The messages of earlier exchanges that the head left, and its own number of messages. */
  #earlier: { readonly kept: number; readonly head: number } | undefined

  get isKept(): boolean {
    return this.#said !== null
  }

  get messages(): readonly Message[] {
    return this.#kept().map(({ message }) => message)
  }

  /** The conversation with the exchanges before it. */
  after(before: readonly Message[]): readonly TurnMessage[] {
    const own = this.#kept()
    if (before.length === 0) return own
    const said = before.map((message): TurnMessage => ({ turn: 0, message }))
    if (this.#earlier === undefined) return [...said, ...own]
    const { kept, head } = this.#earlier
    return [...own.slice(0, head), ...said.slice(said.length - Math.min(kept, said.length)), ...own.slice(head)]
  }

  /** The known facts about the size of the conversation. */
  get measured(): MeasuredContext | undefined {
    const { tokens, count } = this.#measured ?? {}
    return tokens === undefined || count === undefined ? undefined : { tokens, since: this.#kept().length - count }
  }

  /** Returns the conversation and stops keeping it, so that it is not in memory twice. */
  handOver(before: readonly Message[] = []): readonly TurnMessage[] {
    const said = this.after(before)
    this.#said = null
    return said
  }

  add(turn: number, message: Message): void {
    this.#said?.push({ turn, message })
  }

  addPart(part: AssistantMessage["content"][number]): void {
    if (this.#said) this.#parts.push(part)
  }

  dropParts(): void {
    this.#parts = []
  }

  addAnswer(turn: number): void {
    if (this.#parts.length === 0) return
    this.add(turn, { role: "assistant", content: this.#parts })
    this.#parts = []
  }

  /** Adds the results of a step as one message, then the messages that arrived during it. */
  addResults(turn: number, results: readonly ToolResultPart[]): void {
    // A backend that runs tools itself may begin them before its answer is complete.
    this.addAnswer(turn)
    if (results.length > 0) this.add(turn, { role: "tool", content: results })
    for (const message of this.#deferred) this.add(turn, message)
    this.#deferred = []
  }

  defer(message: Message): void {
    if (this.#said) this.#deferred.push(message)
  }

  /** Call before the answer is added: the provider counted what came before it. */
  measure(usage: Usage): void {
    const tokens = contextTokens(usage)
    this.accepted = Math.max(this.accepted, tokens ?? 0)
    this.#measured = tokens === null || !this.#said ? undefined : { tokens, count: this.#said.length }
  }

  /** A fact learned about one model is not valid for another. */
  changeModel(): void {
    this.recent = []
    this.learnedWindow = undefined
    this.accepted = 0
    this.#measured = undefined
  }

  compact(record: CompactionRecord): void {
    if (record.type === "compaction-request") this.isAsked = true
    else if (record.type === "compaction-start") this.isOpen = true
    else this.#apply(record)
  }

  /** Some vendors report nothing else about a conversation that they have shortened. */
  warned({ code }: RunRecord & { readonly type: "warning" }): void {
    this.isCompacted ||= code === "conversation_compacted"
  }

  #apply(record: RunRecord & { readonly type: "compaction" }): void {
    const { turn, cause, window, tokens, head } = record
    this.isOpen = false
    this.isAsked = false
    this.isCompacted = true
    if (cause === "overflow") this.learnedWindow = Math.min(window, this.learnedWindow ?? window)
    // A compaction that the host asked for, or that another one follows, says nothing about the room.
    if (cause !== "asked" && !record.isPart) {
      const past = { turn, window, after: tokens.after, hasHead: head !== undefined }
      this.recent = [...this.recent, past].slice(-MAX_RECENT)
    }
    if (!this.#said) return
    // A new head replaces the one before it as a whole, and what that one left of earlier exchanges is behind it.
    const said = head && this.#earlier ? this.#said.slice(this.#earlier.head) : this.#said
    if (head) this.#earlier = { kept: Math.max(0, -firstKept(said, head)), head: head.messages.length }
    this.#said = [...compacted(said, record)]
    this.#measured = { tokens: tokens.after, count: this.#said.length }
  }

  #kept(): readonly TurnMessage[] {
    if (this.#said) return this.#said
    throw new LonghaulError("internal", "The conversation was handed over: read it from the journal again.")
  }
}

const MAX_RECENT = 6
