import type { ToolCall } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import { type Answered, type ToolContext, ToolError } from "../../contract/tool.ts"
import { canonicalJson, jsonCopy, whyNotJson } from "../../lib/json.ts"
import { asksLive } from "../../policy/pipeline.ts"
import type { OpenRun } from "../state/open-run.ts"

/** The question that one attempt at a call may ask a person. */
export class CallQuestion {
  readonly #run: OpenRun
  readonly #call: ToolCall
  #asked: { readonly question: string; readonly state: Json } | undefined
  /** For the tool. */
  readonly context: Pick<ToolContext, "ask" | "answered">

  constructor(run: OpenRun, call: ToolCall, answered: Answered | undefined) {
    this.#run = run
    this.#call = call
    const ask = (question: string, state: Json) => this.#ask(question, state)
    const canAsk = !run.tree.deniesQuestions || asksLive(run.policy)
    this.context = { ...(answered && { answered }), ...(canAsk && { ask }) }
  }

  /** True: the attempt has ended with a question, whatever the tool returned. */
  get isAsked(): boolean {
    return this.#asked !== undefined
  }

  /** Records the question, and returns it as people see it. Durable with the request for an answer. */
  record(): string {
    const { question, state } = this.#asked ?? { question: "", state: null }
    this.#run.journal.append({ type: "tool-question", callId: this.#call.callId, question, state })
    return question
  }

  async #ask(question: string, state: Json): Promise<never> {
    const { name } = this.#call
    if (this.#asked) throw new ToolError("conflict", `${name} has asked its question already.`)
    this.#requireRound()
    this.#asked = { question: this.#shown(question), state: this.#kept(state) }
    throw new ToolError("aborted", `${name} waits for the answer of a person.`)
  }

  #requireRound(): void {
    const { callId, name } = this.#call
    const { questions = 0 } = this.#run.projection.calls.get(callId) ?? {}
    if (questions < MAX_QUESTIONS) return
    const text = `${name} was stopped: it has asked ${questions} questions and wants to ask another one.`
    throw new ToolError("denied", text)
  }

  #shown(question: string): string {
    const text = this.#run.redactor.text(String(question))
    return text.length > MAX_QUESTION_LENGTH ? `${text.slice(0, MAX_QUESTION_LENGTH)}…` : text
  }

  /** Other processes need the state exactly as it is, so it must not contain what only this one could restore. */
  #kept(given: Json): Json {
    const { name } = this.#call
    const issue = whyNotJson(given, "state")
    if (issue !== undefined) throw new ToolError("invalid_input", `${name} cannot ask: ${issue}`)
    const bytes = new TextEncoder().encode(JSON.stringify(given)).length
    if (bytes > MAX_STATE_BYTES) {
      const limit = `${MAX_STATE_BYTES / 1024} KB`
      throw new ToolError("invalid_input", `${name} cannot ask: its state has ${bytes} bytes, and ${limit} are kept.`)
    }
    const { redactor } = this.#run
    const state = redactor.known(jsonCopy(given))
    const restored = redactor.expand(state)
    if (restored !== undefined && canonicalJson(restored) === canonicalJson(given)) return state
    throw new ToolError("denied", `${name} cannot ask: its state contains a credential that must not be recorded.`)
  }
}

const MAX_QUESTIONS = 10
const MAX_STATE_BYTES = 256 * 1024
const MAX_QUESTION_LENGTH = 8_000
