import type { Stop, Suspended, TurnHost } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { Answer, AnswerCall, AnswerSink, Conversation } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { delay } from "../../lib/abort.ts"
import { createRetry, type Retry, type RetryPolicy } from "../../lib/retry.ts"
import type { Controls } from "./controls.ts"
import { partId, toolCall } from "./names.ts"

export interface Question {
  readonly turn: number
  readonly messages: readonly Message[]
  readonly conversation: Conversation
  readonly retry: RetryPolicy
  readonly host: TurnHost
  readonly controls: Controls
}

/** A complete answer, with the calls that already run. */
export interface Answered {
  readonly answer: Answer
  readonly attempt: number
  readonly durationMs: number
  readonly early: ReadonlyMap<number, Promise<ToolOutcome | Suspended>> | undefined
}

/** One model call with its retries: its answer, or how the run stops for want of one. A failed attempt leaves a `retry` behind and nothing else: its deltas are void. */
export async function askModel(question: Question): Promise<Answered | { readonly stop: Stop }> {
  const { turn, messages, conversation, host } = question
  const { controls } = question
  const { signal } = controls
  let retry: Retry | undefined
  for (;;) {
    const attempt = new Attempt(question, retry?.attempt ?? 0)
    const started = performance.now()
    try {
      const answer = await conversation.call(messages, attempt, signal)
      const durationMs = Math.round(performance.now() - started)
      return { answer, attempt: attempt.number, durationMs, early: attempt.early }
    } catch (error) {
      if (signal.aborted) {
        attempt.keepPartialText()
        return { stop: { reason: "interrupted" } }
      }
      const failure = asFailure(error)
      retry ??= createRetry(question.retry)
      const delayMs = retry.delayAfter(failure)
      if (delayMs === null) return { stop: { reason: "failed", failure } }
      host.emit({ type: "retry", turn, attempt: retry.attempt, delayMs, failure })
      await delay(delayMs, controls.halting)
      if (controls.stopping) return { stop: { reason: "interrupted" } }
    }
  }
}

/** Hears one attempt. */
class Attempt implements AnswerSink {
  early: Map<number, Promise<ToolOutcome | Suspended>> | undefined
  readonly number: number
  readonly #question: Question
  readonly #ids: string[] = []
  #partial = ""

  constructor(question: Question, number: number) {
    this.#question = question
    this.number = number
  }

  partStart(kind: "text" | "reasoning", index: number): void {
    const { host } = this.#question
    if (host.deltas) host.show({ type: kind === "text" ? "text-start" : "reasoning-start", id: this.#id(index) })
  }

  delta(kind: "text" | "reasoning", index: number, delta: string): void {
    const { host } = this.#question
    if (kind === "text") this.#partial += delta
    if (!host.deltas) return
    host.show({ type: kind === "text" ? "text-delta" : "reasoning-delta", id: this.#id(index), delta })
  }

  /** One that is harmless starts before its answer is complete. */
  call(call: AnswerCall, index: number): void {
    const { host, turn } = this.#question
    if (call.invalid !== undefined || !host.startsEarly(call.name)) return
    this.early ??= new Map()
    this.early.set(index, host.callTool(toolCall(turn, index, call)))
  }

  /** In the result, not in messages: the model never finished saying it. */
  keepPartialText(): void {
    const { host, turn } = this.#question
    if (this.#partial === "") return
    host.emit({ type: "text-end", turn, id: this.#id(0), text: this.#partial, partial: true })
  }

  /** The same string for every delta of a part. */
  #id(index: number): string {
    this.#ids[index] ??= partId(this.#question.turn, index, this.number)
    return this.#ids[index]
  }
}

function asFailure(error: unknown) {
  if (LonghaulError.is(error)) return error.toJSON()
  return new LonghaulError("internal", "The model's client failed unexpectedly.", { cause: error }).toJSON()
}
