import type { Stop, Suspended, TurnHost } from "../../contract/backend.ts"
import { type Failure, LonghaulError } from "../../contract/error.ts"
import type { Answer, AnswerCall, AnswerSink, Conversation } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { delay } from "../../lib/abort.ts"
import { AttemptCost } from "../../lib/money/attempt-cost.ts"
import { createRetry, type Retry, type RetryPolicy } from "../../lib/retry.ts"
import type { Controls } from "../shared/controls.ts"
import type { History } from "../shared/history.ts"
import { modelFailure } from "../shared/model-failure.ts"
import type { TurnBounds } from "../shared/turn-bounds.ts"
import { partId, recordable, toolCall } from "./names.ts"

interface Asking {
  readonly history: History
  readonly conversation: Conversation
  readonly retry: RetryPolicy
  readonly host: TurnHost
  readonly controls: Controls
  readonly bounds: Pick<TurnBounds, "next">
  /** Present if the conversation can be shortened. */
  readonly compaction?: unknown
}

/** A complete answer, with the calls that already run. */
export interface Responded {
  readonly answer: Answer
  readonly attempt: number
  readonly durationMs: number
  readonly early: ReadonlyMap<number, Promise<ToolOutcome | Suspended>> | undefined
}

/** A request that the model refused because it is too long, or an answer that was cut for that reason. */
export interface Overflowed {
  readonly overflow: Failure
  /** The number of attempts at the turn so far. */
  readonly attempts: number
  /** Of the cut answer. */
  readonly usage?: Usage | undefined
}

/**
 * One model call with retries: its answer, or why the run stops without one. A failed attempt leaves only a `retry`
 * record, and what it cost: its deltas are void. Each further attempt needs room in the budget. `before`: the number of
 * earlier attempts at the turn.
 */
export async function askModel(
  asking: Asking,
  turn: number,
  before = 0,
): Promise<Responded | Overflowed | { readonly stop: Stop }> {
  const { history, conversation, host, controls } = asking
  const { signal } = controls
  let retry: Retry | undefined
  for (;;) {
    const attempt = new Attempt(host, turn, before + (retry?.attempt ?? 0))
    const started = performance.now()
    try {
      const answer = await conversation.call(history.messages, attempt, signal)
      const durationMs = Math.round(performance.now() - started)
      if (asking.compaction && answer.stopReason === "context-overflow")
        return overflowed(host, turn, attempt, cutByWindow, answer)
      return { answer, attempt: attempt.number, durationMs, early: attempt.early }
    } catch (error) {
      const failure = modelFailure(error)
      attempt.meter(failure)
      if (signal.aborted) {
        attempt.keepPartialText()
        return { stop: { reason: "interrupted" } }
      }
      if (asking.compaction && failure.code === "context_overflow") return overflowed(host, turn, attempt, failure)
      retry ??= createRetry(asking.retry)
      const delayMs = retry.delayAfter(failure)
      if (delayMs === null) return { stop: { reason: "failed", failure } }
      host.emit({ type: "retry", turn, attempt: before + retry.attempt, delayMs, failure })
      await delay(delayMs, controls.halting)
      if (controls.stopping) return { stop: { reason: "interrupted" } }
      const stop = await host.beginTurn(turn, asking.bounds.next)
      if (stop) return { stop }
    }
  }
}

/** Drops the calls that the answer already started, before anything else is recorded. */
function overflowed(host: TurnHost, turn: number, { number }: Attempt, failure: Failure, answer?: Answer): Overflowed {
  host.emit({ type: "retry", turn, attempt: number + 1, delayMs: 0, failure })
  if (answer) host.emit({ type: "metering", usage: answer.usage, model: answer.model })
  return { overflow: failure, attempts: number + 1, usage: answer?.usage }
}

export const cutByWindow = new LonghaulError(
  "context_overflow",
  "The conversation no longer fits in the model's context.",
  {
    fix: "Shorten the task or its history.",
  },
).toJSON()

/** Receives the events of one attempt. */
class Attempt implements AnswerSink {
  early: Map<number, Promise<ToolOutcome | Suspended>> | undefined
  readonly number: number
  readonly #host: TurnHost
  readonly #turn: number
  readonly #cost = new AttemptCost()
  #ids: string[] | undefined
  #partial = ""

  constructor(host: TurnHost, turn: number, number: number) {
    this.#host = host
    this.#turn = turn
    this.number = number
  }

  accepted(usage?: Usage): void {
    this.#cost.accepted(usage)
  }

  partStart(kind: "text" | "reasoning", index: number): void {
    if (this.#host.deltas)
      this.#host.show({ type: kind === "text" ? "text-start" : "reasoning-start", id: this.#id(index) })
  }

  delta(kind: "text" | "reasoning", index: number, delta: string): void {
    this.#cost.delta(kind, index, delta)
    if (kind === "text") this.#partial += delta
    if (!this.#host.deltas) return
    this.#host.show({ type: kind === "text" ? "text-delta" : "reasoning-delta", id: this.#id(index), delta })
  }

  unfinished(characters: number): void {
    this.#cost.unfinished(characters)
  }

  /** A call without an effect starts before its answer is complete. */
  call(given: AnswerCall, index: number): void {
    this.#cost.call()
    const call = recordable(given)
    if (call.invalid !== undefined || !this.#host.startsEarly(call.name)) return
    this.early ??= new Map()
    this.early.set(index, this.#host.callTool(toolCall(this.#turn, index, call)))
  }

  /** Records what the failed attempt cost. */
  meter(failure: Failure): void {
    const metering = this.#cost.metering(failure)
    if (metering) this.#host.emit(metering)
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
