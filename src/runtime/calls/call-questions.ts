import type { ToolCall } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import { type Answered, type ToolContext, ToolError } from "../../contract/tool.ts"
import { canonicalJson, jsonCopy, whyNotJson } from "../../lib/json.ts"
import type { OpenRun } from "../open-run.ts"

/** The questions that the running calls of a session ask people. */
export class CallQuestions {
  readonly #run: OpenRun
  /** Asked by calls whose attempt has not ended yet. */
  readonly #asked = new Map<string, { readonly question: string; readonly state: Json }>()

  constructor(run: OpenRun) {
    this.#run = run
  }

  context({ callId, name }: ToolCall, answered: Answered | undefined): Pick<ToolContext, "ask" | "answered"> {
    return {
      ...(answered && { answered }),
      ask: async (question, state) => {
        if (this.#asked.has(callId)) throw new ToolError("conflict", `${name} has asked its question already.`)
        const asked = { question: this.#shown(question), state: this.#kept(name, state) }
        this.#requireLeave(callId, name)
        this.#asked.set(callId, asked)
        throw new ToolError("aborted", `${name} waits for the answer of a person.`)
      },
    }
  }

  has(callId: string): boolean {
    return this.#asked.has(callId)
  }

  /** Records the question of a call whose attempt has ended. Durable with the request for an answer. */
  record(callId: string): string {
    const asked = this.#asked.get(callId) ?? { question: "", state: null }
    this.#asked.delete(callId)
    this.#run.journal.append({ type: "tool-question", callId, ...asked })
    return asked.question
  }

  #requireLeave(callId: string, name: string): void {
    const { place, projection, controls } = this.#run
    if (controls.stopping) throw new ToolError("aborted", `${name} cannot ask: the run is being stopped.`)
    if (place?.deniesQuestions) {
      throw new ToolError("denied", `${name} needs an answer from a person, and an agent cannot ask one here.`)
    }
    const { questions = 0 } = projection.calls.get(callId) ?? {}
    if (questions < MOST_QUESTIONS) return
    throw new ToolError(
      "denied",
      `${name} was stopped: it has asked ${questions} questions and wants to ask another one.`,
    )
  }

  #shown(question: string): string {
    const text = this.#run.redactor.text(String(question))
    return text.length > LONGEST_QUESTION ? `${text.slice(0, LONGEST_QUESTION)}…` : text
  }

  /** Other processes need the state exactly as it is, so it must not contain what only this one could restore. */
  #kept(name: string, given: Json): Json {
    const issue = whyNotJson(given, "state")
    if (issue !== undefined) throw new ToolError("invalid_input", `${name} cannot ask: ${issue}`)
    const bytes = new TextEncoder().encode(JSON.stringify(given)).length
    if (bytes > MOST_STATE_BYTES) {
      const limit = `${MOST_STATE_BYTES / 1024} KB`
      throw new ToolError("invalid_input", `${name} cannot ask: its state has ${bytes} bytes, and ${limit} are kept.`)
    }
    const { redactor } = this.#run
    const state = redactor.known(jsonCopy(given))
    const restored = redactor.expand(state)
    if (restored !== undefined && canonicalJson(restored) === canonicalJson(given)) return state
    throw new ToolError("denied", `${name} cannot ask: its state contains a credential that must not be recorded.`)
  }
}

const MOST_QUESTIONS = 10
const MOST_STATE_BYTES = 256 * 1024
const LONGEST_QUESTION = 8_000
