import type { Stop, Suspended, TurnHost } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Answer, AnswerCall, AnswerSink, Conversation } from "../../contract/provider.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { delay } from "../../lib/abort.ts"
import { createRetry, type Retry, type RetryPolicy } from "../../lib/retry.ts"
import type { Controls } from "./controls.ts"
import type { Dialogue } from "./dialogue.ts"
import { partId, recordable, toolCall } from "./names.ts"

interface Asking {
  readonly dialogue: Dialogue
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

/**
 * One model call with retries: its answer, or why the run stops without one. A failed attempt leaves only a `retry`
 * record: its deltas are void.
 */
export async function askModel(asking: Asking, turn: number): Promise<Answered | { readonly stop: Stop }> {
  const { dialogue, conversation, host, controls } = asking
  const { signal } = controls
  let retry: Retry | undefined
  for (;;) {
    const attempt = new Attempt(host, turn, retry?.attempt ?? 0)
    const started = performance.now()
    try {
      const answer = await conversation.call(dialogue.messages, attempt, signal)
      const durationMs = Math.round(performance.now() - started)
      return { answer, attempt: attempt.number, durationMs, early: attempt.early }
    } catch (error) {
      if (signal.aborted) {
        attempt.keepPartialText()
        return { stop: { reason: "interrupted" } }
      }
      const failure = asFailure(error)
      retry ??= createRetry(asking.retry)
      const delayMs = retry.delayAfter(failure)
      if (delayMs === null) return { stop: { reason: "failed", failure } }
      host.emit({ type: "retry", turn, attempt: retry.attempt, delayMs, failure })
      await delay(delayMs, controls.halting)
      if (controls.stopping) return { stop: { reason: "interrupted" } }
    }
  }
}

/** Receives the events of one attempt. */
class Attempt implements AnswerSink {
  early: Map<number, Promise<ToolOutcome | Suspended>> | undefined
  readonly number: number
  readonly #host: TurnHost
  readonly #turn: number
  #ids: string[] | undefined
  #partial = ""

  constructor(host: TurnHost, turn: number, number: number) {
    this.#host = host
    this.#turn = turn
    this.number = number
  }

  partStart(kind: "text" | "reasoning", index: number): void {
    if (this.#host.deltas)
      this.#host.show({ type: kind === "text" ? "text-start" : "reasoning-start", id: this.#id(index) })
  }

  delta(kind: "text" | "reasoning", index: number, delta: string): void {
    if (kind === "text") this.#partial += delta
    if (!this.#host.deltas) return
    this.#host.show({ type: kind === "text" ? "text-delta" : "reasoning-delta", id: this.#id(index), delta })
  }

  /** A call without an effect starts before its answer is complete. */
  call(given: AnswerCall, index: number): void {
    const call = recordable(given)
    if (call.invalid !== undefined || !this.#host.startsEarly(call.name)) return
    this.early ??= new Map()
    this.early.set(index, this.#host.callTool(toolCall(this.#turn, index, call)))
  }

  /** Belongs in the result, not in messages: the model never finished it. */
  keepPartialText(): void {
    if (this.#partial === "") return
    this.#host.emit({ type: "text-end", turn: this.#turn, id: this.#id(0), text: this.#partial, partial: true })
  }

  /** The same string for every delta of a part. */
  #id(index: number): string {
    this.#ids ??= []
    this.#ids[index] ??= partId(this.#turn, index, this.number)
    return this.#ids[index]
  }
}

function asFailure(error: unknown) {
  if (LonghaulError.is(error)) return error.toJSON()
  return new LonghaulError("internal", "The model's client failed unexpectedly.", { cause: error }).toJSON()
}
