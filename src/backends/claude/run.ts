import type { BackendEvent, Stop, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Usage } from "../../contract/result.ts"
import type { InterruptMode, SteerMessage } from "../../contract/session.ts"
import { delay } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { Meter } from "../shared/meter.ts"
import { Steps } from "../shared/steps.ts"
import { type ApiError, crashed, failed, stopOf } from "./failures.ts"
import { firstMessage } from "./first-message.ts"
import { ClaudeGate, type DeferredCall } from "./gate.ts"
import { Outbox } from "./outbox.ts"
import type { ToolNames } from "./tools.ts"
import { type ClaudeEnd, type ClaudeEvent, objectIn, translate, usageOf } from "./translate.ts"
import { Unmeasured } from "./unmeasured.ts"
import type { ClaudeProgram, ClaudeQuestion, Delivery } from "./wire.ts"

/** The state that a session keeps for the next process that opens it. */
export interface SessionFacts {
  readonly counted: Usage
  /** The call that the program presents again. */
  readonly deferred?: string | undefined
}

/** The messages of a person from before the run began. */
export interface EarlyControls {
  readonly mode: InterruptMode | undefined
  readonly messages: readonly SteerMessage[]
}

export interface RunParts {
  readonly program: ClaudeProgram
  readonly host: TurnHost
  readonly names: ToolNames
  readonly turns: number
  readonly lastTurn: number
  readonly model: string
  /** Usage has to be known after each answer. */
  readonly isLimited: boolean
  readonly stopMs: number
  readonly facts: SessionFacts
  /** The id of a call in the run: servers use an id of theirs again in another session. */
  callId(wireId: string): string
  /** The text in front of the first message: what happened before this session. */
  readonly brief: string
  readonly early: EarlyControls
  /** The session is stored, with these facts. */
  stored(facts: SessionFacts): BackendEvent
}

/** One run of a session: sends messages, records what the program reports, and answers its questions until it is done. */
export class ClaudeRun {
  readonly gate: ClaudeGate
  readonly #parts: RunParts
  readonly #steps: Steps
  readonly #meter: Meter
  readonly #outbox: Outbox
  #answer = ""
  /** The usage of each answer that no total of the program contains yet. */
  readonly #unmeasured = new Unmeasured()
  #partial = ""
  #apiError: ApiError | undefined
  #suspension: DeferredCall | undefined
  /** For when the program presents its pending call: it reaches the model with the result. */
  readonly #withReplay: ContentPart[] = []
  #mode: InterruptMode | undefined
  /** The stop that was decided before the program has ended its work. */
  #halted: Stop | undefined
  #isInterrupted = false
  readonly #over = new AbortController()

  constructor(parts: RunParts) {
    const { program, host, turns, model, names, facts, early } = parts
    this.#parts = parts
    this.#steps = new Steps(host, turns, model)
    this.#meter = new Meter(host, facts.counted)
    this.#mode = early.mode
    this.#outbox = new Outbox(program, early.messages)
    this.gate = new ClaudeGate({
      host,
      names,
      steps: this.#steps,
      onSuspend: (suspension) => this.#suspend(suspension),
    })
  }

  async run(input: TurnInput): Promise<Stop> {
    const { host, program } = this.#parts
    try {
      if (this.#mode) return { reason: "interrupted" }
      await this.#begin(input)
      for (;;) {
        const delivery = await program.next()
        if (delivery === undefined) return this.#stopAtExit(await program.ended)
        host.alive()
        const stop = await this.#take(delivery)
        if (stop) return stop
      }
    } catch (error) {
      return failed(error)
    } finally {
      this.#close()
    }
  }

  /** False: the model will not be asked again. */
  steer(message: SteerMessage): boolean {
    return this.#mode === undefined && !this.#halted && this.#outbox.steer(message)
  }

  interrupt(mode: InterruptMode): void {
    this.#mode = mode
    if (mode === "immediate") this.#interruptNow()
  }

  async #begin(input: TurnInput): Promise<void> {
    const { facts, brief } = this.#parts
    const { content, isReplayed } = firstMessage(input, brief, facts.deferred)
    if (isReplayed) this.#withReplay.push(...content)
    else await this.#outbox.release(content)
  }

  async #take(delivery: Delivery): Promise<Stop | undefined> {
    switch (delivery.kind) {
      case "hook":
        // Not awaited: calls of one step may run side by side.
        void this.#ask(delivery.question, (question) => this.gate.hook(question)).then(delivery.answer)
        return undefined
      case "permit":
        void this.#ask(delivery.question, (question) => this.gate.permit(question)).then(delivery.answer)
        return undefined
      case "message":
        for (const event of translate(delivery.message, this.#parts.callId)) {
          const stop = await this.#handle(event)
          if (stop) return stop
        }
        return undefined
    }
  }

  /** A gate that fails refuses: the program gets an answer in any case. */
  async #ask<Answer>(given: ClaudeQuestion, decide: (question: ClaudeQuestion) => Promise<Answer>) {
    const refusal = { kind: "deny", reason: "Not run: the decision failed." } as const
    if (this.#halted) return refusal
    const callId = this.#parts.callId(given.callId)
    const answer = await decide({ ...given, callId }).catch(() => refusal)
    const isReplayed = callId === this.#parts.facts.deferred
    if (isReplayed && !this.#suspension) await this.#outbox.release(this.#withReplay.splice(0)).catch(() => {})
    return answer
  }

  async #handle(event: ClaudeEvent): Promise<Stop | undefined> {
    if (event.type === "end") return this.#finish(event.end)
    if (event.type === "delivered") this.#deliver(event.id)
    if (this.#halted) return undefined
    switch (event.type) {
      case "model":
        this.#steps.model = event.model
        break
      case "request":
        if (this.#mode) this.#interruptNow()
        break
      case "answer":
        await this.#startAnswer(event.id, event.model)
        break
      case "used":
        this.#unmeasured.note(this.#answer, event.usage)
        break
      case "answer-end":
        if (this.#parts.isLimited) await this.#measure()
        break
      case "api-error":
        this.#apiError = event
        break
      case "compacted":
        await this.#recordCompaction(event)
        break
      case "result":
        this.#record(event)
        break
      case "part-start":
      case "delta":
        this.#show(event)
        break
      case "text":
        this.#partial = ""
        this.#steps.addText(event.text)
        break
      case "reasoning":
        this.#steps.addReasoning(event.text)
        break
      case "call":
        this.#recordCall(event)
        break
    }
    return undefined
  }

  async #startAnswer(id: string, model: string): Promise<void> {
    if (id === this.#answer) return
    this.#answer = id
    this.#partial = ""
    if (model !== "") this.#steps.model = model
    if (this.#mode) this.#interruptNow()
    const stop = await this.#steps.begin()
    if (stop === undefined) return
    this.#halted = stop
    this.#interruptNow()
  }

  /** The program keeps its conversation itself, so that nothing in the journal is replaced. */
  async #recordCompaction({ isAsked, before, after }: ClaudeEvent & { readonly type: "compacted" }): Promise<void> {
    const cause = isAsked ? "asked" : "threshold"
    const { turn } = this.#steps
    await this.#parts.host.endCompaction({ turn, cause, window: before, tokens: { before, after } })
  }

  #recordCall({ callId, name, args }: ClaudeEvent & { readonly type: "call" }): void {
    const { names } = this.#parts
    if (names.isOutput(name)) return
    const ours = names.ours(name)
    if (ours !== undefined) this.#steps.addCall({ callId, name: ours, args })
    else this.#steps.addCall({ callId, name: names.own(name).name, args }, "backend")
  }

  #record({ callId, outcome }: ClaudeEvent & { readonly type: "result" }): void {
    // The result of the program's own output tool, or of a call that is not recorded.
    if (!this.#steps.hasCall(callId) && callId !== this.#parts.facts.deferred) return
    const rejected = this.gate.isRejected(callId, outcome, this.#isInterrupted)
    this.#steps.addResult(callId, this.gate.outcomeFor(callId, outcome, this.#isInterrupted), { rejected })
  }

  #show(event: ClaudeEvent & { readonly type: "part-start" | "delta" }): void {
    const { host } = this.#parts
    if (event.type === "delta" && event.kind === "text") this.#partial += event.delta
    if (!host.deltas) return
    const id = this.#steps.nextPart()
    if (event.type === "delta") host.show({ type: `${event.kind}-delta`, id, delta: event.delta })
    else host.show({ type: `${event.kind}-start`, id })
  }

  async #measure(): Promise<void> {
    const usage = await this.#parts.program.usage()
    if (!isJsonObject(usage)) return
    const session = objectIn(usage, "session")
    if (!isJsonObject(session.model_usage)) return
    this.#meter.total(usageOf(session.model_usage, session.total_cost_usd), this.#steps.model)
    this.#unmeasured.take()
  }

  #deliver(id: string): void {
    const message = this.#outbox.delivered(id)
    if (message !== undefined) this.#parts.host.emit({ type: "steer", ...message })
  }

  #suspend(suspension: DeferredCall): void {
    this.#suspension = suspension
    this.#outbox.hold()
    if (!suspension.isDeferred) this.#interruptNow()
  }

  /** The stop after a result, unless the program continues with another message. */
  async #finish(end: ClaudeEnd): Promise<Stop | undefined> {
    const { host, stored } = this.#parts
    this.#meter.total(end.usage, this.#steps.model)
    this.#unmeasured.take()
    for (const id of end.delivered) this.#deliver(id)
    host.emit(stored({ counted: this.#meter.counted, deferred: end.deferred }))
    if (this.#halted) return this.#halted
    if (this.#suspension) {
      // It would continue with them, and forget the call that it deferred.
      if (end.queued > 0) await this.#parts.program.kill()
      return { reason: "suspended", resumeBy: end.deferred === this.#suspension.callId ? "replay" : "repeat" }
    }
    if (this.#isInterrupted) return { reason: "interrupted" }
    if (end.isError) return stopOf(end, this.#apiError)
    const text = end.structured === undefined ? end.text : JSON.stringify(end.structured)
    if (end.structured !== undefined) this.#steps.addText(text)
    const ended = await this.#steps.end("end")
    if (ended) return ended
    const validationError = await host.review(text)
    if (validationError !== undefined && this.#steps.turn >= this.#parts.lastTurn) return { reason: "limit" }
    if (validationError !== undefined) {
      // It would answer, although it was asked to stop.
      if (this.#isInterrupted) return { reason: "interrupted" }
      await this.#outbox.send([
        { type: "text", text: host.emit({ type: "steer", text: validationError, reason: "repair" }).text },
      ])
      return undefined
    }
    if (end.queued > 0 || this.#outbox.hasUndelivered) return undefined
    return { reason: "done", text }
  }

  #stopAtExit(how: string): Stop {
    if (this.#halted) return this.#halted
    if (this.#suspension) return { reason: "suspended", resumeBy: "repeat" }
    return this.#isInterrupted ? { reason: "interrupted" } : crashed(how)
  }

  /** The program is asked to stop; if it does not, it is killed. */
  #interruptNow(): void {
    if (this.#isInterrupted) return
    this.#isInterrupted = true
    const { program, stopMs } = this.#parts
    program.interrupt().catch(() => {})
    const { signal } = this.#over
    void delay(stopMs, signal).then(() => (signal.aborted ? undefined : program.kill()))
  }

  /** Records what the model could not finish. */
  #close(): void {
    this.#over.abort()
    // A program that has crashed no longer reports a total.
    for (const usage of this.#unmeasured.take()) this.#meter.add(usage, this.#steps.model)
    if (this.#isInterrupted && this.#partial !== "") this.#steps.addPartialText(this.#partial)
    this.#steps.suspend()
    this.#outbox.close()
  }
}
