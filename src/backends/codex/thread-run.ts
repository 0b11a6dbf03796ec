import type { OpenRequest, Permit, Stop, ToolCall, TurnHost, TurnInput } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { textOrEmpty } from "../../lib/json.ts"
import type { Controls } from "../shared/controls.ts"
import type { OwnCall } from "./calls.ts"
import { failureOf } from "./failures.ts"
import type { CodexGate, GateDesk } from "./gate.ts"
import { objectOf, readTurnEnd, type TurnEnd } from "./protocol.ts"
import { Recording, type StepResult } from "./recording.ts"
import { turnParameters } from "./settings.ts"
import { inject, type Thread } from "./thread.ts"
import { outputItem, toolReply, userInput, wireName } from "./translate.ts"

export interface RunParts {
  readonly thread: Thread
  readonly request: OpenRequest
  readonly host: TurnHost
  readonly controls: Controls
  readonly gate: CodexGate
  readonly stopMs: number
  /** Codex's total that was recorded before. */
  readonly counted: Usage
  /** Results of the answer at which an earlier session was suspended. */
  readonly left: readonly StepResult[]
  /** Notes what the next session needs. */
  onProgress(total: Usage, results?: readonly StepResult[]): void
}

/** One run of a thread: its turns, until the model is done or the run has to stop. */
export class ThreadRun implements GateDesk {
  readonly #parts: RunParts
  readonly #recording: Recording
  #turnId: string | undefined
  #turnEnded: (end: TurnEnd) => void = () => {}
  #halt: (stop: Stop) => void = () => {}
  readonly #halted: Promise<Stop>
  #isSuspending = false
  /** The turn was asked to stop. */
  #isInterrupted = false
  #isOver = false
  #killTimer: ReturnType<typeof setTimeout> | undefined
  /** Messages that Codex has, but the model has not seen yet. */
  readonly #sent = new Map<string, SteerMessage>()
  /** Messages that came too late for their turn. */
  #unsent: SteerMessage[] = []

  constructor(parts: RunParts) {
    const { host, request, thread, counted, stopMs, gate } = parts
    this.#parts = parts
    this.#halted = new Promise((resolve) => {
      this.#halt = resolve
    })
    this.#recording = new Recording(
      host,
      { turns: request.from.turns, model: thread.model, counted, stopMs },
      {
        onHalt: (stop) => this.#halt(stop),
        onFailure: (error) => this.#halt(failedStop(error)),
        onStepEnd: (hadCalls) => this.#stepEnded(hadCalls),
        takeSteer: (clientId) => this.#takeSteer(clientId),
        onUsage: (total) => parts.onProgress(total),
        onStored: () => parts.onProgress(this.#recording.total),
        isPermitted: (callId) => gate.isPermitted(callId),
        isInterrupted: () => this.#isInterrupted,
        note: (item) => gate.note(item),
        onEscalation: (callId) => gate.escalated(callId),
      },
    )
  }

  /** Never rejects. */
  async run(input: TurnInput): Promise<Stop> {
    const { controls } = this.#parts
    const stop = await this.#work(input).catch(failedStop)
    this.#isOver = true
    clearTimeout(this.#killTimer)
    await this.#recording.enqueue(() => this.#recording.leave())
    return stop.reason === "failed" && controls.stopping ? { reason: "interrupted" } : stop
  }

  alive(): void {
    this.#parts.host.alive()
  }

  notified(method: string, params: Json): void {
    if (objectOf(params).threadId !== this.#parts.thread.id) return
    if (method === "turn/started") this.#turnId = textOrEmpty(objectOf(objectOf(params).turn).id)
    if (method === "turn/completed") {
      const end = readTurnEnd(params)
      if (end.turnId === this.#turnId) void this.#recording.enqueue(() => this.#turnEnded(end))
    } else this.#recording.take(method, params, this.#turnId)
  }

  /** Sends waiting messages into the running turn. */
  sendSteers(): void {
    const { controls, thread } = this.#parts
    const expectedTurnId = this.#turnId
    if (expectedTurnId === undefined) return
    const messages = controls.takeSteers(false)
    if (messages === "closed") return
    for (const message of messages) {
      const { id, text } = message
      this.#sent.set(id, message)
      const input = userInput([{ type: "text", text }])
      thread.rpc
        .request("turn/steer", { threadId: thread.id, expectedTurnId, clientUserMessageId: id, input })
        .catch(() => this.#takeBack(id))
    }
  }

  /** Ends the running turn, and the program if that takes too long. */
  interruptTurn(): void {
    const { thread, stopMs } = this.#parts
    this.#isInterrupted = true
    this.#killTimer ??= setTimeout(() => void thread.channel.end("kill"), stopMs)
    if (this.#turnId === undefined) return
    thread.rpc.request("turn/interrupt", { threadId: thread.id, turnId: this.#turnId }).catch(() => undefined)
  }

  async ask({ call, tool }: OwnCall): Promise<Permit> {
    const { host } = this.#parts
    if (!(await this.#recording.addCall(call, "backend"))) return { kind: "refuse", reason: STOPPING }
    if (this.#isLastTurn) return this.#refuseLast(call)
    const permit = await host.authorize(call, tool).catch(() => undefined)
    if (permit === undefined) return { kind: "refuse", reason: this.#failed(call) }
    // A program that gets an answer late must not run the call either.
    if (this.#isOver) return { kind: "refuse", reason: STOPPING }
    if (permit.kind === "suspend") return this.#suspend(call.callId)
    if (permit.kind === "refuse") return this.#answered(call, deniedOutcome(permit.reason), permit)
    return permit
  }

  refused(callId: string, reason: string): void {
    this.#recording.addResult(callId, deniedOutcome(reason))
  }

  /** A call of one of the runtime's tools. */
  async callTool(params: Json): Promise<Json> {
    const { callId, tool, arguments: args = null } = objectOf(params)
    const own = this.#parts.request.tools.find(({ name }) => wireName(name) === tool)
    const call: ToolCall = { callId: textOrEmpty(callId), name: own?.name ?? textOrEmpty(tool), args }
    if (!(await this.#recording.addCall(call))) return toolReply(deniedOutcome(STOPPING))
    if (this.#isLastTurn) return this.#refuseLast(call)
    const outcome = await this.#parts.host.callTool(call).catch(() => undefined)
    if (outcome === undefined) return toolReply(deniedOutcome(this.#failed(call)))
    if (outcome.status === "suspended") return this.#suspend(call.callId)
    return this.#answered(call, outcome, toolReply(outcome))
  }

  async #work(input: TurnInput): Promise<Stop> {
    const { host, controls } = this.#parts
    let next = await this.#begin(input)
    if ("reason" in next) return next
    for (;;) {
      if (controls.stopping) return { reason: "interrupted" }
      const stop = await this.#turn(next)
      if (stop) return stop
      const text = this.#recording.finalText
      const ended = await this.#recording.steps.end("end")
      if (ended) return ended
      const validationError = await host.review(text)
      const steers = this.#nextSteers(validationError === undefined)
      if (steers === "closed") return { reason: "done", text }
      if (this.#isLastTurn) return { reason: "limit" }
      if (validationError !== undefined) host.emit({ type: "steer", text: validationError, reason: "repair" })
      for (const steer of steers) host.emit({ type: "steer", ...steer })
      const sent = steers.map(({ text }) => text)
      const texts = validationError === undefined ? sent : [validationError, ...sent]
      next = userInput(texts.map((each) => ({ type: "text", text: each })))
    }
  }

  /** Hands over what the model has not seen, and returns the input of the first turn. */
  async #begin(input: TurnInput): Promise<Json[] | Stop> {
    const { thread, left } = this.#parts
    if (input.kind === "prompt") return userInput(input.content)
    const items = left
      .filter(({ isAnswered }) => !isAnswered)
      .map((each) => outputItem(each.callId, each.text, each.isCustom))
    const notes = left
      .filter(({ isAnswered }) => isAnswered)
      .map(({ callId, text }) => `The call ${callId} has run. Its result:\n${text}`)
    let isPending = false
    for (const answer of input.answers) {
      const { call } = answer
      if (answer.kind === "outcome")
        items.push(outputItem(call.callId, plainText(answer.outcome.output, "\n"), isCustom(call)))
      else if (answer.kind === "repeat")
        notes.push(`${call.name} was approved. Call it again with exactly the same arguments.`)
      else isPending = true
    }
    await inject(thread, items)
    this.#parts.onProgress(this.#parts.counted, [])
    // Nothing has changed for such a call: a person still has to decide.
    if (isPending) return { reason: "suspended", resumeBy: "settle" }
    return userInput([...notes.map((text) => ({ type: "text", text }) as const), ...(input.content ?? [])])
  }

  /** Runs one turn of Codex. Undefined: the model has given its answer. */
  async #turn(input: Json[]): Promise<Stop | undefined> {
    const { thread, request, controls } = this.#parts
    const ended = new Promise<TurnEnd>((resolve) => {
      this.#turnEnded = resolve
    })
    const params = { threadId: thread.id, input, ...turnParameters(request) }
    const reply = objectOf(await thread.rpc.request("turn/start", params))
    this.#turnId ??= textOrEmpty(objectOf(reply.turn).id)
    if (controls.mode === "immediate") this.interruptTurn()
    else this.sendSteers()
    const crashed = thread.rpc.ended.then(failedStop)
    const end = await Promise.race([ended, this.#halted, crashed])
    if ("reason" in end) await this.#leave(end, ended)
    this.#turnId = undefined
    for (const clientId of [...this.#sent.keys()]) this.#takeBack(clientId)
    return "reason" in end ? end : stopOf(end)
  }

  /** Leaves a turn that is still running. */
  async #leave(stop: Stop, ended: Promise<TurnEnd>): Promise<void> {
    const { thread, onProgress } = this.#parts
    await this.#recording.enqueue(() => this.#recording.steps.suspend())
    if (stop.reason === "suspended") {
      onProgress(this.#recording.total, this.#recording.results)
      // On any other way out, Codex would note that the call was aborted, and its result could no longer be added.
      await thread.channel.end("kill")
      return
    }
    this.interruptTurn()
    await Promise.race([ended, thread.rpc.ended])
  }

  #stepEnded(hadCalls: boolean): void {
    const { controls } = this.#parts
    if (controls.stopping && hadCalls) this.interruptTurn()
  }

  /** The first call that waits for a person stops the session, once the others have finished. */
  #suspend(callId: string): Promise<never> {
    this.#recording.leaveOpen(callId)
    if (!this.#isSuspending) {
      this.#isSuspending = true
      void this.#recording.whenIdle().then(() => this.#halt({ reason: "suspended", resumeBy: "settle" }))
    }
    return never
  }

  get #isLastTurn(): boolean {
    return this.#recording.steps.turn >= this.#parts.request.limits.turns
  }

  /** No request may follow, so the result would not be used. Codex gets no answer: with one it would ask its model again. */
  #refuseLast({ callId }: ToolCall): Promise<never> {
    this.#recording.addResult(callId, deniedOutcome(LAST_TURN))
    this.#halt({ reason: "limit" })
    return never
  }

  /** The decision about a call failed: it does not run. Returns why. */
  #failed({ callId }: ToolCall): string {
    this.#recording.addResult(callId, deniedOutcome(FAILED))
    return FAILED
  }

  /** A session that is being suspended answers nothing more: so it is certain what Codex does not have. */
  #answered<Answer>(call: ToolCall, outcome: ToolOutcome, answer: Answer): Answer | Promise<never> {
    this.#recording.settled(call.callId, outcome, !this.#isSuspending, isCustom(call))
    return this.#isSuspending ? never : answer
  }

  #nextSteers(isDone: boolean): readonly SteerMessage[] | "closed" {
    const late = this.#unsent
    this.#unsent = []
    const steers = this.#parts.controls.takeSteers(isDone && late.length === 0)
    return steers === "closed" ? (late.length > 0 ? late : "closed") : [...late, ...steers]
  }

  #takeSteer(id: string): SteerMessage | undefined {
    const message = this.#sent.get(id)
    this.#sent.delete(id)
    return message
  }

  #takeBack(id: string): void {
    const message = this.#takeSteer(id)
    if (message !== undefined) this.#unsent.push(message)
  }
}

function stopOf({ status, error }: TurnEnd): Stop | undefined {
  if (status === "completed") return undefined
  if (error) return failedStop(failureOf(error))
  return failedStop(new LonghaulError("unexpected_stop", `Codex ended its turn with status ${status}.`))
}

function failedStop(error: unknown): Stop {
  const failure = LonghaulError.is(error)
    ? error
    : new LonghaulError("internal", "The Codex backend failed unexpectedly.", { cause: error })
  return { reason: "failed", failure: failure.toJSON() }
}

/** Codex passes a patch as a text instead of arguments, except within a shell command. */
function isCustom({ name, args }: ToolCall): boolean {
  return name === "ApplyPatch" && objectOf(args).command === undefined
}

function deniedOutcome(reason: string): ToolOutcome {
  return { status: "denied", output: [{ type: "text", text: reason }] }
}

const never = new Promise<never>(() => {})
const FAILED = "Not run: the decision failed."
const LAST_TURN = "Not run: the limit of turns is reached, so that its result could not be used."
const STOPPING = "The run is being stopped."
