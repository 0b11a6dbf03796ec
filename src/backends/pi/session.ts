import type { BackendSession, OpenRequest, Stop, ToolCall, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { InterruptMode, SessionRef } from "../../contract/session.ts"
import { tokensAtMost } from "../native/token-bound.ts"
import type { PiAgent, PiAssistant, PiEvent, PiMessage, PiModel, PiModules, PiTool, PiToolResult } from "./shapes.ts"
import { originOf, toFailure, toPiContent, toPiMessages, toStopReason, toUsage, userMessage } from "./translate.ts"

export interface PiSetup {
  readonly modules: PiModules
  readonly model: PiModel
  readonly request: OpenRequest
  readonly ref: SessionRef
  readonly system?: string
  readonly transport?: string
  apiKey(provider: string): Promise<string | undefined>
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

  steer(text: string): boolean {
    return this.#run?.steer(text) ?? false
  }

  interrupt(mode: InterruptMode): void {
    this.#run?.interrupt(mode)
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
  #calls = new Map<string, ToolCall>()
  /** Calls of the current step that reached the runtime. */
  readonly #begun = new Set<string>()
  #steers: string[] | undefined = []
  #stop: Stop | undefined
  #mode: InterruptMode | undefined
  #isSuspended = false
  #response: { readonly status: number; readonly retryAfter?: string } | undefined

  constructor(setup: PiSetup, host: TurnHost) {
    const { request, modules, model, system, transport } = setup
    this.#setup = setup
    this.#host = host
    this.#turn = request.from.turns
    this.#origin = originOf(model)
    const messages = request.from.kind === "history" ? toPiMessages(request.from.messages, model) : []
    const { effort } = request.settings
    this.#agent = new modules.agent.Agent({
      initialState: {
        model,
        messages,
        tools: request.tools.map((spec) => this.#tool(spec)),
        ...(system !== undefined && { systemPrompt: system }),
        ...(effort !== undefined && { thinkingLevel: effort }),
      },
      streamFn: modules.ai.streamSimple,
      getApiKey: (provider) => setup.apiKey(provider),
      onResponse: ({ status, headers }) => {
        const retryAfter = headers["retry-after"]
        this.#response = { status, ...(retryAfter !== undefined && { retryAfter }) }
      },
      prepareRequest: () => this.#beginTurn(),
      finishTurn: () => this.#finishTurn(),
      sessionId: setup.ref.id,
      ...(transport !== undefined && { transport }),
    })
    this.#agent.subscribe((event) => this.#observe(event))
  }

  async work(input: TurnInput): Promise<Stop> {
    try {
      if (this.#mode) return { reason: "interrupted" }
      if (input.content) await this.#agent.prompt(userMessage(input.content))
      else await this.#agent.continue()
    } catch (error) {
      this.#stop ??= {
        reason: "failed",
        failure: toFailure(error instanceof Error ? error.message : undefined, undefined),
      }
    }
    for (const text of this.#steers ?? []) this.#host.emit({ type: "steer", text })
    this.#steers = undefined
    if (this.#stop) return this.#stop
    return this.#mode ? { reason: "interrupted" } : this.#failure()
  }

  steer(text: string): boolean {
    return this.#steers !== undefined && this.#steers.push(text) > 0
  }

  interrupt(mode: InterruptMode): void {
    this.#mode = mode
    if (mode === "immediate") this.#agent.abort()
  }

  /** Before each request: nothing is sent without a reserve. */
  async #beginTurn(): Promise<void> {
    this.#response = undefined
    const { model, request } = this.#setup
    const outputTokens = request.settings.maxOutputTokens ?? model.maxTokens
    const bound = () => ({ inputTokens: tokensAtMost(JSON.stringify(this.#agent.state.messages)), outputTokens })
    const isAllowed = this.#mode === undefined && (await this.#host.beginTurn(this.#turn + 1, bound))
    if (isAllowed) {
      this.#turn++
      return
    }
    this.#stop ??= this.#mode ? { reason: "interrupted" } : { reason: "limit" }
    this.#agent.abort()
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
    this.#host.emit({ type: "tool-result", callId: call.callId, outcome: { status: "error", output }, durationMs: 0 })
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
      if (stopReason === "error") this.#stop ??= this.#failed(message)
      else this.#keepPartial(message)
      return
    }
    const turn = this.#turn
    this.#calls = new Map()
    this.#begun.clear()
    for (const [index, part] of content.entries()) {
      const id = this.#partId(index)
      if (part.type === "text") this.#host.emit({ type: "text-end", turn, id, text: part.text })
      if (part.type === "thinking") {
        const { thinking: text, thinkingSignature: opaque } = part
        this.#host.emit({
          type: "reasoning-end",
          turn,
          id,
          text,
          origin: this.#origin,
          ...(opaque !== undefined && { opaque }),
        })
      }
      if (part.type === "toolCall" && stopReason === "toolUse") {
        const call = { callId: id, name: part.name, args: part.arguments }
        this.#calls.set(part.id, call)
        this.#host.emit({ type: "tool-call", turn, ...call, wireId: part.id })
      }
    }
    this.#host.emit({
      type: "usage",
      turn,
      usage: toUsage(message.usage),
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
    const isWanted = await this.#host.endTurn(this.#turn)
    if (this.#stop || this.#mode) return { action: "end" }
    const text = this.#lastText()
    if (!isWanted) return this.#done(text)
    const isFinal = this.#calls.size === 0
    const complaint = isFinal ? await this.#host.review(text) : undefined
    const steers = this.#steers?.splice(0) ?? []
    if (isFinal && complaint === undefined && steers.length === 0) return this.#done(text)
    if (complaint !== undefined) this.#tell(complaint, "repair")
    for (const steer of steers) this.#tell(steer)
    return { action: "continue" }
  }

  #done(text: string): { readonly action: "end" } {
    this.#steers = undefined
    this.#stop ??= { reason: "done", text }
    return { action: "end" }
  }

  #tell(text: string, reason?: "repair"): void {
    const recorded = this.#host.emit({ type: "steer", text, ...(reason && { reason }) })
    this.#agent.steer(userMessage([{ type: "text", text: recorded.text }]))
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
    this.#begun.add(id)
    if (this.#mode) return said(`${name} was not started: the run is being stopped.`)
    const outcome = await this.#host.callTool(call)
    if (outcome.status === "suspended") {
      this.#isSuspended = true
      return { ...said("It waits for a decision."), terminate: true }
    }
    return { content: toPiContent(outcome.output) }
  }

  #lastText(): string {
    const last = this.#agent.state.messages.findLast((message): message is PiAssistant => message.role === "assistant")
    return last?.content.map((part) => (part.type === "text" ? part.text : "")).join("") ?? ""
  }

  #failed({ errorMessage }: PiAssistant): Stop {
    const { status, retryAfter } = this.#response ?? {}
    return { reason: "failed", failure: toFailure(errorMessage, status, retryAfter) }
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

function said(text: string): PiToolResult {
  return { content: [{ type: "text", text }] }
}
