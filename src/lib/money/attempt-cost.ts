import type { BackendEvent } from "../../contract/backend.ts"
import type { Failure } from "../../contract/error.ts"
import type { AnswerSink } from "../../contract/provider.ts"
import type { Usage } from "../../contract/result.ts"
import { noUsage } from "../usage.ts"

/** Counts what one request costs if its answer fails: providers charge for an answer that was cut. */
export class AttemptCost implements AnswerSink {
  #isAccepted = false
  #hasContent = false
  #usage: Usage | undefined
  #characters = 0

  accepted(usage?: Usage): void {
    this.#isAccepted = true
    this.#usage = usage ?? this.#usage
  }

  delta(_kind: "text" | "reasoning", _index: number, delta: string): void {
    this.unfinished(delta.length)
  }

  unfinished(characters: number): void {
    this.#hasContent = true
    this.#characters += characters
  }

  call(): void {
    this.#hasContent = true
  }

  /** The event of the failed attempt; undefined if the provider refused the request, or never began to answer. */
  metering({ code }: Pick<Failure, "code">): (BackendEvent & { readonly type: "metering" }) | undefined {
    const reported = this.#usage
    if (reported === undefined || reported.inputTokens === null) {
      // An error that the server itself sends instead of an answer is a refusal.
      const wasCut = code.startsWith("stream_") || (this.#isAccepted && (code === "network" || code === "cancelled"))
      return this.#hasContent || wasCut ? { type: "metering", usage: noUsage, failed: "unreported" } : undefined
    }
    // The report at the beginning of a stream has next to nothing of the output.
    const outputTokens = Math.max(reported.outputTokens ?? 0, Math.ceil(this.#characters / CHARACTERS_PER_TOKEN))
    return { type: "metering", usage: { ...reported, outputTokens }, failed: "reported" }
  }
}

const CHARACTERS_PER_TOKEN = 4
