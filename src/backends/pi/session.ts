import type {
  BackendSession,
  OpenRequest,
  SteerEvent,
  Stop,
  ToolCall,
  TurnHost,
  TurnInput,
} from "../../contract/backend.ts"
import type { Failure } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { AssistantMessage, ToolResultPart } from "../../contract/message.ts"
import type { InterruptMode, SessionRef, SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { Controls } from "../shared/controls.ts"
import { PiContext, type PiContextSetup } from "./context.ts"
import { costOfFailed } from "./failed-attempt.ts"
import type { PiAgent, PiAgentContext, PiAssistant, PiEvent, PiMessage, PiTool, PiToolResult } from "./shapes.ts"
import { originOf, toFailure, toPiContent, toPiMessages, toStopReason, toUsage, userMessage } from "./translate.ts"

export interface PiSetup extends PiContextSetup {
  readonly ref: SessionRef
  readonly transport?: string
}

/** One conversation with Pi's agent. Its tools are the runtime's, and its messages are in the journal. */
export class PiSession implements BackendSession {
  readonly ref: SessionRef
  readonly #setup: PiSetup
  #run: PiRun | undefined
  #isClosed = false

  constructor(setup: PiSetup) {
    this.#setup = setup
    this.ref = setup.ref
  }

  run(input: TurnInput, host: TurnHost): Promise<Stop> {
    this.#run = new PiRun(this.#setup, host)
    if (this.#isClosed) this.#run.interrupt("immediate")
    return this.#run.work(input)
  }

  steer(message: SteerMessage): boolean {
    return this.#run?.steer(message) ?? false
  }

  interrupt(mode: InterruptMode): void {
    this.#run?.interrupt(mode)
  }

  compact(): void {
    this.#run?.compact()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.interrupt("immediate")
  }
}

/** One run of Pi's agent until it stops. */
class PiRun {
  readonly #setup: PiSetup
  readonly #host: TurnHost
  readonly #agent: PiAgent
  readonly #origin: string
  #turn: number
  readonly #controls = new Controls()
  readonly #context: PiContext
  #calls = new Map<string, ToolCall>()
  /** The results of the current step, by call. */
  readonly #results = new Map<string, ToolOutcome>()
  /** The refusal of a request that was too long. */
  #overflow: Failure | undefined
  /** Calls of the current step that reached the runtime. */
  readonly #begun = new Set<string>()
  #stop: Stop | undefined
  #isSuspended = false
  #response: { readonly status: number; readonly retryAfter?: string | undefined } | undefined

  constructor(setup: PiSetup, host: TurnHost) {
    const { request, modules, model, system, transport } = setup
    this.#setup = setup
    this.#host = host
    this.#turn = request.from.turns
    this.#origin = originOf(model)
    this.#context = new PiContext(setup, host, this.#controls)
    if (request.context?.isAsked) this.#controls.askToCompact()
    const messages = request.from.kind === "history" ? toPiMessages(request.from.messages, model) : []
    const { effort } = request.settings
    this.#agent = new modules.agent.Agent({
      initialState: {
        model,
        messages,
        tools: request.tools.map((spec) => this.#tool(spec)),
        systemPrompt: system,
        thinkingLevel: effort,
      },
      streamFn: modules.ai.streamSimple,
      getApiKey: (provider) => setup.apiKey(provider),
      onResponse: ({ status, headers }) => {
        const retryAfter = headers["retry-after"]
        this.#response = { status, retryAfter }
      },
      prepareRequest: ({ context }) => this.#beginTurn(context),
      finishTurn: () => this.#finishTurn(),
      sessionId: setup.ref.id,
      transport,
    })
    this.#agent.subscribe((event) => this.#observe(event))
  }

  async work(input: TurnInput): Promise<Stop> {
    try {
      if (this.#controls.stopping) return { reason: "interrupted" }
      if (input.content) {
        this.#context.add(this.#promptTurn(), { role: "user", content: input.content })
        await this.#agent.prompt(userMessage(input.content))
      } else await this.#agent.continue()
      while (await this.#isShortened()) await this.#agent.continue()
    } catch (error) {
      this.#stop ??= {
        reason: "failed",
        failure: toFailure(error instanceof Error ? error.message : undefined, undefined),
      }
    }
    if (this.#stop) return this.#stop
    return this.#controls.stopping ? { reason: "interrupted" } : this.#failure()
  }

  steer(message: SteerMessage): boolean {
    return this.#controls.steer(message)
  }

  interrupt(mode: InterruptMode): void {
    this.#controls.interrupt(mode)
    if (mode === "immediate") this.#agent.abort()
  }

  compact(): void {
    this.#controls.askToCompact()
  }

  /** Before each request: it must fit in the model's context, and nothing is sent without a reserve. */
  async #beginTurn(context: PiAgentContext): Promise<{ readonly context: PiAgentContext } | undefined> {
    this.#response = undefined
    const turn = this.#turn + 1
    const stop = await this.#mayBegin(turn)
    if (stop) {
      this.#stop ??= this.#controls.stopping ? interrupted : stop
      this.#agent.abort()
      return undefined
    }
    this.#turn = turn
    const replaced = this.#replaced(context.messages)
    return replaced && { context: { ...context, messages: replaced } }
  }

  async #mayBegin(turn: number): Promise<Stop | undefined> {
    if (this.#controls.stopping) return interrupted
    return (await this.#context.beforeRequest(turn)) ?? this.#host.beginTurn(turn, this.#context.bound)
  }

  /** The messages after a compaction, behind Pi's own first one. */
  #replaced(messages: readonly PiMessage[]): PiMessage[] | undefined {
    const replaced = this.#context.takeReplaced()
    const first = messages.slice(0, 1).filter(({ role }) => role === "system")
    return replaced && [...first, ...toPiMessages(replaced, this.#setup.model)]
  }

  /** True if the model refused the conversation as too long, and now it is shorter: the same turn asks again. */
  async #isShortened(): Promise<boolean> {
    const failure = this.#overflow
    this.#overflow = undefined
    if (failure === undefined || this.#stop || this.#controls.stopping) return false
    this.#stop = await this.#context.onOverflow(this.#turn, failure)
    const { state } = this.#agent
    const replaced = this.#replaced(state.messages)
    if (this.#stop || !replaced) {
      this.#stop ??= { reason: "failed", failure }
      return false
    }
    state.messages = replaced
    this.#turn--
    return true
  }

  #promptTurn(): number {
    return this.#setup.request.context?.said.at(-1)?.turn ?? this.#turn
  }

  #observe(event: PiEvent): void {
    this.#host.alive()
    if (event.type === "message_update") this.#show(event.assistantMessageEvent)
    if (event.type === "message_end" && event.message.role === "assistant") this.#record(event.message)
    if (event.type === "tool_execution_end") this.#refused(event.toolCallId, event.result)
  }

  /** Pi itself refuses calls whose arguments do not fit, and those of unknown tools. */
  #refused(id: string, { content }: PiToolResult): void {
    const call = this.#calls.get(id)
    if (call === undefined || this.#begun.has(id)) return
    const output = content.flatMap((part) => (part.type === "text" ? [part] : []))
    this.#fails(call.callId, output)
  }

  /** Records that a call did not reach the runtime. */
  #fails(callId: string, output: ToolOutcome["output"]): void {
    const refused: ToolOutcome = { status: "error", output }
    const { outcome } = this.#host.emit({ type: "tool-result", callId, outcome: refused, durationMs: 0 })
    this.#results.set(callId, outcome)
  }

  #show({ type, contentIndex = 0, delta = "" }: (PiEvent & { type: "message_update" })["assistantMessageEvent"]): void {
    const id = this.#partId(contentIndex)
    if (!this.#host.deltas) return
    if (type === "text_start" || type === "thinking_start") {
      this.#host.show({ type: type === "text_start" ? "text-start" : "reasoning-start", id })
    }
    if (type === "text_delta" || type === "thinking_delta") {
      this.#host.show({ type: type === "text_delta" ? "text-delta" : "reasoning-delta", id, delta })
    }
  }

  /** Records a complete answer. One that failed or was cut off has no calls to run. */
  #record(message: PiAssistant): void {
    const { stopReason, content } = message
    if (stopReason === "error" || stopReason === "aborted") {
      this.#meter(message)
      if (stopReason === "error") this.#fail(message)
      else this.#keepPartial(message)
      return
    }
    const turn = this.#turn
    const said: AssistantMessage["content"][number][] = []
    this.#calls = new Map()
    this.#begun.clear()
    this.#results.clear()
    for (const [index, part] of content.entries()) {
      const id = this.#partId(index)
      if (part.type === "text") {
        said.push({ type: "text", text: this.#host.emit({ type: "text-end", turn, id, text: part.text }).text })
      }
      if (part.type === "thinking") {
        const { thinking: text, thinkingSignature: opaque } = part
        const sealed = { origin: this.#origin, ...(opaque !== undefined && { opaque }) }
        const { type, turn: _, id: __, ...kept } = this.#host.emit({ type: "reasoning-end", turn, id, text, ...sealed })
        said.push({ type: "reasoning", ...kept })
      }
      if (part.type === "toolCall" && stopReason === "toolUse") {
        const call = { callId: id, name: part.name, args: part.arguments }
        const { args } = this.#host.emit({ type: "tool-call", turn, ...call, wireId: part.id })
        if (this.#calls.has(part.id)) this.#fails(id, [{ type: "text", text: ID_USED }])
        else this.#calls.set(part.id, call)
        said.push({ type: "tool-call", ...call, args, wireId: part.id })
      }
    }
    const usage = toUsage(message.usage)
    this.#context.settle(usage)
    this.#context.add(turn, { role: "assistant", content: said })
    this.#host.emit({
      type: "usage",
      turn,
      usage,
      model: message.responseModel ?? message.model,
      stopReason: toStopReason(stopReason),
      ...(message.responseId !== undefined && { requestId: message.responseId }),
    })
    if (stopReason === "length") this.#stop ??= { reason: "output-limit" }
  }

  #keepPartial({ content }: PiAssistant): void {
    const text = content.map((part) => (part.type === "text" ? part.text : "")).join("")
    if (text === "") return
    this.#host.emit({ type: "text-end", turn: this.#turn, id: this.#partId(0), text, partial: true })
  }

  /** Decides whether the model is asked again. */
  async #finishTurn(): Promise<{ readonly action: "continue" | "end" } | undefined> {
    if (this.#isSuspended) {
      this.#stop ??= { reason: "suspended" }
      return { action: "end" }
    }
    const ended = await this.#host.endTurn(this.#turn)
    if (this.#stop || this.#overflow || this.#controls.stopping) return { action: "end" }
    this.#keepResults()
    const text = this.#lastText()
    if (ended) {
      this.#stop = ended
      return { action: "end" }
    }
    const isFinal = this.#calls.size === 0
    const validationError = isFinal ? await this.#host.review(text) : undefined
    const steers = this.#controls.takeSteers(isFinal && validationError === undefined)
    if (steers === "closed") return this.#done(text)
    if (validationError !== undefined) this.#tell({ type: "steer", text: validationError, reason: "repair" })
    for (const steer of steers) this.#tell({ type: "steer", ...steer })
    return { action: "continue" }
  }

  #done(text: string): { readonly action: "end" } {
    this.#stop ??= { reason: "done", text }
    return { action: "end" }
  }

  #tell(message: SteerEvent): void {
    const { text } = this.#host.emit(message)
    const content = [{ type: "text", text }] as const
    this.#context.add(this.#turn, { role: "user", content })
    this.#agent.steer(userMessage(content))
  }

  /** The results of the step, in the order of its calls. */
  #keepResults(): void {
    const results = Array.from(this.#calls, ([wireId, { callId }]): ToolResultPart[] => {
      const outcome = this.#results.get(callId)
      return outcome ? [{ type: "tool-result", callId, wireId, ...outcome }] : []
    })
    this.#context.add(this.#turn, { role: "tool", content: results.flat() })
  }

  #tool(spec: OpenRequest["tools"][number]): PiTool {
    const { name, description, inputSchema } = spec
    return {
      name,
      label: name,
      description,
      parameters: inputSchema,
      execute: (id, args) => this.#execute(id, name, args),
    }
  }

  async #execute(id: string, name: string, args: unknown): Promise<PiToolResult> {
    const call = this.#calls.get(id) ?? { callId: id, name, args: args as Json } // Safe: it came as JSON.
    if (this.#begun.has(id)) return said(ID_USED)
    this.#begun.add(id)
    if (this.#controls.stopping) return said(`${name} was not started: the run is being stopped.`)
    const outcome = await this.#host.callTool(call)
    if (outcome.status === "suspended") {
      this.#isSuspended = true
      return { ...said("It waits for a decision."), terminate: true }
    }
    this.#results.set(call.callId, outcome)
    return { content: toPiContent(outcome.output) }
  }

  #lastText(): string {
    const last = this.#agent.state.messages.findLast((message): message is PiAssistant => message.role === "assistant")
    return last?.content.map((part) => (part.type === "text" ? part.text : "")).join("") ?? ""
  }

  /** Records what the failed attempt cost. */
  #meter(message: PiAssistant): void {
    const code = message.stopReason === "aborted" ? "cancelled" : this.#failureOf(message).code
    const metering = costOfFailed(message, code, this.#response?.status)
    if (metering) this.#host.emit(metering)
  }

  #failureOf({ errorMessage }: PiAssistant): Failure {
    const { status, retryAfter } = this.#response ?? {}
    return toFailure(errorMessage, status, retryAfter)
  }

  #fail(message: PiAssistant): void {
    const failure = this.#failureOf(message)
    if (failure.code !== "context_overflow" && !this.#setup.modules.ai.isContextOverflow?.(message)) {
      this.#stop ??= { reason: "failed", failure }
      return
    }
    const { fix: _, ...rest } = failure
    this.#overflow = { ...rest, code: "context_overflow", retryable: false }
  }

  #failure(): Stop {
    const last: PiMessage | undefined = this.#agent.state.messages.at(-1)
    return {
      reason: "failed",
      failure: toFailure(last?.role === "assistant" ? last.errorMessage : undefined, undefined),
    }
  }

  #partId(index: number): string {
    return `${this.#turn}.${index}`
  }
}

const ID_USED = "Not run: another call of this answer has the same id."
const interrupted: Stop = { reason: "interrupted" }

function said(text: string): PiToolResult {
  return { content: [{ type: "text", text }] }
}
