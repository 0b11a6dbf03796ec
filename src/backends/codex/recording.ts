import type { Stop, ToolCall, TurnHost } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { textOrEmpty } from "../../lib/json.ts"
import { Meter } from "../shared/meter.ts"
import { Steps } from "../shared/steps.ts"
import {
  type CommandItem,
  type FileChangeItem,
  type Item,
  type McpItem,
  objectOf,
  type RawCall,
  readItem,
  readRawCall,
} from "./protocol.ts"
import { outcomeOf, ranCall, usageOf } from "./translate.ts"

/** The result of a call of the newest answer. `isAnswered`: Codex has it, and may have stored it. */
export interface StepResult {
  readonly callId: string
  readonly text: string
  readonly isCustom: boolean
  readonly isAnswered: boolean
}

export interface RecordingEvents {
  /** The answer can no longer be recorded: the session has to stop. */
  onHalt(stop: Stop): void
  /** Something that Codex told could not be recorded. */
  onFailure(error: unknown): void
  /** An answer and its calls are complete. */
  onStepEnd(hadCalls: boolean): void
  /** A person's message has reached the model. Returns its text, if it is one of ours. */
  takeSteer(clientId: string): SteerMessage | undefined
  onUsage(total: Usage): void
  onStored(): void
  isPermitted(callId: string): boolean
  isInterrupted(): boolean
  note(item: Item): void
  onEscalation(callId: string): void
}

export interface RecordingOptions {
  /** Recorded before. */
  readonly turns: number
  readonly model: string
  /** Codex's total that was recorded before. */
  readonly counted: Usage
  /** How long calls are waited for that Codex has announced and does not ask about. */
  readonly stopMs: number
}

/** Records the notifications of a thread as steps of one run, in the order of their arrival. */
export class Recording {
  readonly steps: Steps
  readonly #host: TurnHost
  readonly #meter: Meter
  #total: Usage
  readonly #events: RecordingEvents
  #queue: Promise<void> = Promise.resolve()
  /** The newest answer is complete: the next item begins another one. */
  #isComplete = true
  /** The calls of the newest answer: undefined while they run. */
  readonly #calls = new Map<string, StepResult | undefined>()
  /** Calls of the newest answer that Codex has not asked about yet. */
  readonly #announced = new Set<string>()
  /** All calls of the newest answer have been announced. */
  #isReceived = false
  readonly #outputs = new Map<string, string>()
  #finalText = ""
  /** Of a message that the model is writing. */
  #partialText = ""
  #idle: (() => void) | undefined
  #idleTimer: ReturnType<typeof setTimeout> | undefined
  readonly #stopMs: number

  constructor(host: TurnHost, { turns, model, counted, stopMs }: RecordingOptions, events: RecordingEvents) {
    this.#host = host
    this.steps = new Steps(host, turns, model)
    this.#meter = new Meter(host, counted)
    this.#total = counted
    this.#events = events
    this.#stopMs = stopMs
  }

  /** The text of the newest message of the model. */
  get finalText(): string {
    return this.#finalText
  }

  /** Codex's newest total of the thread. */
  get total(): Usage {
    return this.#total
  }

  /** The finished calls of the newest answer. */
  get results(): readonly StepResult[] {
    return [...this.#calls.values()].filter((result) => result !== undefined)
  }

  /** Runs in order with all notifications. */
  enqueue<Value>(work: () => Value | Promise<Value>): Promise<Value> {
    const done = this.#queue.then(work)
    this.#queue = done.then(
      () => undefined,
      (error: unknown) => this.#events.onFailure(error),
    )
    return done
  }

  /** Records a call before it is decided about. False: it must not run. */
  addCall(call: ToolCall, executor?: "backend"): Promise<boolean> {
    return this.enqueue(async () => {
      if (!(await this.#began())) return false
      this.#announced.delete(call.callId)
      this.steps.addCall(call, executor)
      this.#calls.set(call.callId, undefined)
      return true
    })
  }

  /** Records the result of a call that Codex ran, or that was not run after all. */
  addResult(callId: string, outcome: ToolOutcome, durationMs = 0): void {
    this.steps.addResult(callId, outcome, { durationMs })
    this.settled(callId, outcome, true)
  }

  /** Notes that a result is recorded. */
  settled(callId: string, outcome: ToolOutcome, isAnswered: boolean, isCustom = false): void {
    if (outcome.status === "denied") this.steps.refuse(callId)
    else this.steps.settle(callId)
    if (this.#calls.has(callId)) {
      this.#calls.set(callId, { callId, text: plainText(outcome.output, "\n"), isAnswered, isCustom })
    }
    this.#outputs.delete(callId)
    this.#checkIdle()
  }

  /** Records what the model could not finish. */
  leave(): void {
    // Belongs in the result.
    if (this.#partialText !== "") this.steps.addPartialText(this.#partialText)
    this.#partialText = ""
    this.steps.suspend()
  }

  /** A call that waits for a person is not waited for. */
  leaveOpen(callId: string): void {
    this.#calls.delete(callId)
    this.#checkIdle()
  }

  /** Resolves when no call of the newest answer is running, and none can follow. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve
      this.#checkIdle()
    })
  }

  /** `turnId`: of the turn that this run has started. */
  take(method: string, params: Json, turnId: string | undefined): void {
    void this.enqueue(() => this.#record(method, objectOf(params), turnId))
  }

  async #record(method: string, params: ReturnType<typeof objectOf>, turnId: string | undefined): Promise<void> {
    switch (method) {
      case "hook/started":
        this.#announce(objectOf(params.run))
        return
      case "item/started":
        return this.#started(readItem(params.item))
      case "item/completed":
        return this.#completed(readItem(params.item))
      case "item/agentMessage/delta":
        this.#partialText += textOrEmpty(params.delta)
        return this.#delta("text-delta", textOrEmpty(params.delta))
      case "item/reasoning/summaryTextDelta":
      case "item/reasoning/textDelta":
        return this.#delta("reasoning-delta", textOrEmpty(params.delta))
      case "item/commandExecution/outputDelta": {
        const callId = textOrEmpty(params.itemId)
        this.#outputs.set(callId, (this.#outputs.get(callId) ?? "") + textOrEmpty(params.delta))
        return
      }
      case "error":
        // The retries of a built-in model provider cannot be turned off. Other errors end the turn, which says why.
        if (params.willRetry === true) this.#warn(textOrEmpty(objectOf(params.error).message))
        return
      case "rawResponseItem/completed":
        return this.#rawCall(readRawCall(params.item))
      case "rawResponse/completed":
        this.#isReceived = true
        this.#checkIdle()
        // The total comes only after all calls of the answer, so never if one of them is suspended.
        if (params.usage) this.#meter.add(usageOf(params.usage), this.steps.model)
        return
      case "thread/tokenUsage/updated":
        this.#total = usageOf(objectOf(params.tokenUsage).total)
        this.#meter.total(this.#total, this.steps.model)
        this.#events.onUsage(this.#total)
        // After a resume, the total of an earlier turn is reported again.
        if (params.turnId === turnId) this.#completeStep()
        return
      default:
        return
    }
  }

  async #started(item: Item | undefined): Promise<void> {
    if (item === undefined) return
    this.#events.note(item)
    if (item.type === "userMessage") return this.#steered(item.clientId)
    if (item.type !== "agentMessage" && item.type !== "reasoning") return
    if (!(await this.#began()) || !this.#host.deltas) return
    const type = item.type === "reasoning" ? "reasoning-start" : "text-start"
    this.#host.show({ type, id: this.steps.nextPart() })
  }

  async #steered(clientId: string | undefined): Promise<void> {
    const message = clientId === undefined ? undefined : this.#events.takeSteer(clientId)
    if (message === undefined) return
    // A message comes between two answers.
    const stop = await this.steps.end("tool-calls")
    if (stop) return this.#events.onHalt(stop)
    this.#isComplete = true
    this.#host.emit({ type: "steer", ...message })
  }

  /** The id of a hook's run ends with the call. */
  #announce({ id, eventName, sourcePath }: ReturnType<typeof objectOf>): void {
    const [, callId] = textOrEmpty(id).split(`:${textOrEmpty(sourcePath)}:`)
    if (eventName === "preToolUse" && callId && !this.steps.hasCall(callId)) this.#announced.add(callId)
  }

  /** Codex starts the calls of an answer while it still receives the others. An invalid call has an output, and is not asked about. */
  #rawCall(call: RawCall | undefined): void {
    if (call === undefined) return
    const { callId, isOutput, isEscalated } = call
    if (isEscalated) this.#events.onEscalation(callId)
    if (isOutput) this.#announced.delete(callId)
    else if (!this.steps.hasCall(callId)) this.#announced.add(callId)
    this.#checkIdle()
  }

  async #completed(item: Item | undefined): Promise<void> {
    if (item) this.#announced.delete(item.id)
    switch (item?.type) {
      case "agentMessage":
        if (!(await this.#began())) return
        this.steps.addText(item.text)
        this.#finalText = item.text
        this.#partialText = ""
        return
      case "reasoning":
        if (item.text !== "" && (await this.#began())) this.steps.addReasoning(item.text)
        return
      case "commandExecution":
      case "fileChange":
      case "mcpToolCall":
        if (item.status !== "declined" && !this.#events.isPermitted(item.id)) return this.#ungated(item)
        // Declined because the hook was not asked: it is not a call of this run.
        if (!this.steps.hasCall(item.id)) return
        this.addResult(item.id, this.#outcomeOf(item), "durationMs" in item ? item.durationMs : 0)
        return
      case "contextCompaction": {
        const message = "Codex has shortened its conversation."
        this.#host.emit({ type: "warning", code: "conversation_compacted", message })
        return
      }
      case "imageView":
        this.addResult(item.id, { status: "ok", output: [{ type: "text", text: "The image was shown to the model." }] })
        return
      case "unasked":
        if (!(await this.#began())) return
        this.steps.addCall({ callId: item.id, name: item.name, args: item.args }, "backend")
        this.steps.addResult(item.id, { status: "ok", output: [] })
        return
      default:
        return
    }
  }

  /** A call that is stopped while it runs may have had its effect. */
  #outcomeOf(item: CommandItem | FileChangeItem | McpItem): ToolOutcome {
    const outcome = outcomeOf(item)
    return outcome.status === "error" && this.#events.isInterrupted() ? { ...outcome, status: "unknown" } : outcome
  }

  #warn(reason: string): void {
    this.#host.emit({ type: "warning", code: "backend_retry", message: `Codex repeats a model request: ${reason}` })
  }

  #delta(type: "text-delta" | "reasoning-delta", delta: string): void {
    if (this.#host.deltas) this.#host.show({ type, id: this.steps.nextPart(), delta })
  }

  /** False: no further answer may begin. */
  async #began(): Promise<boolean> {
    if (!this.#isComplete) return true
    const stop = await this.steps.begin()
    if (stop) {
      this.#events.onHalt(stop)
      return false
    }
    this.#isComplete = false
    this.#calls.clear()
    this.#events.onStored()
    return true
  }

  #completeStep(): void {
    if (this.#isComplete) return
    this.#isComplete = true
    this.#isReceived = false
    this.#announced.clear()
    // The model continues while such a command runs.
    for (const [callId, result] of this.#calls) {
      if (result !== undefined || !this.#events.isPermitted(callId)) continue
      const output = `${this.#outputs.get(callId) ?? ""}\n[The command is still running in the background.]`
      this.addResult(callId, { status: "ok", output: [{ type: "text", text: output.trimStart() }] })
    }
    this.#events.onStepEnd(this.#calls.size > 0)
  }

  /** Codex ran something that it was not permitted to run: it can no longer be trusted. */
  async #ungated(item: CommandItem | FileChangeItem | McpItem): Promise<void> {
    const { id: callId } = item
    if (!(await this.#began())) return
    this.steps.addCall({ callId, ...ranCall(item) }, "backend")
    this.steps.addResult(callId, outcomeOf(item))
    this.#events.onHalt({
      reason: "failed",
      failure: {
        code: "backend_protocol",
        message: `Codex ran the call ${callId} without permission.`,
        retryable: false,
        fix: "Check Codex's own rules and hooks, and report it with the version of Codex.",
      },
    })
  }

  #checkIdle(): void {
    const idle = this.#idle
    if (idle === undefined) return
    clearTimeout(this.#idleTimer)
    if ([...this.#calls.values()].some((result) => result === undefined)) return
    if (this.#isReceived && this.#announced.size === 0) idle()
    else this.#idleTimer = setTimeout(idle, this.#stopMs)
  }
}
