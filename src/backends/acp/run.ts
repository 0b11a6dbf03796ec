import type { BackendEvent, Stop, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { LineChannel } from "../../contract/backend-env.ts"
import type { ContentPart } from "../../contract/content.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { InterruptMode, SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { noUsage } from "../../lib/usage.ts"
import { answerText } from "../shared/call-answers.ts"
import { Controls } from "../shared/controls.ts"
import type { JsonRpc } from "../shared/json-rpc.ts"
import { Meter } from "../shared/meter.ts"
import type { AcpAgent } from "./agents.ts"
import { isNote, toldFailure } from "./failures.ts"
import { AcpGate, type GateParts } from "./gate.ts"
import { objectOf, type PermissionQuestion } from "./protocol.ts"
import { Recording } from "./recording.ts"
import {
  type AcpEvent,
  noTokens,
  type PromptEnd,
  promptOf,
  readPromptEnd,
  type TokenCount,
  translate,
  unknownTokens,
  usedSince,
  without,
} from "./translate.ts"

export interface RunParts extends Pick<GateParts, "bridge" | "tools" | "servers"> {
  readonly agent: AcpAgent
  readonly rpc: JsonRpc
  readonly channel: LineChannel
  readonly host: TurnHost
  readonly sessionId: string
  readonly turns: number
  readonly lastTurn: number
  /** Usage has to be recorded after each request. */
  readonly isLimited: boolean
  readonly model: string
  readonly takesImages: boolean
  readonly stopMs: number
  readonly counted: Usage
  /** The last count of tokens of the agent's process. */
  readonly count: { reported: TokenCount }
  /** In front of the first message: the system prompt, and what happened before this session. */
  readonly before: readonly ContentPart[]
  /** The session is stored. */
  stored(counted: Usage): BackendEvent
}

/** One run of a session: sends prompts, records what the agent reports, and answers its questions until it is done. */
export class AcpRun {
  readonly #parts: RunParts
  readonly #recording: Recording
  readonly #gate: AcpGate
  readonly #meter: Meter
  readonly #controls = new Controls()
  #halted: Stop | undefined
  /** The failure to record something. It ends the run, whatever else stops it. */
  #failure: Stop | undefined
  #isCancelled = false
  #isPrompted = false
  #killTimer: ReturnType<typeof setTimeout> | undefined
  /** The tokens of each request of the current prompt, as far as the agent reports them. */
  readonly #perTurn = new Map<number, number>()
  /** How many of these tokens are recorded. */
  #recorded = 0
  /** The last turn of the prompt before. */
  #lastTurn: number
  /** The agent's count of dollars for the whole session. */
  #costUsd: number

  constructor(parts: RunParts) {
    const { agent, host, turns, lastTurn, model, counted, bridge, tools, servers } = parts
    this.#parts = parts
    this.#costUsd = counted.costUsd ?? 0
    this.#lastTurn = turns
    this.#meter = new Meter(host, counted)
    this.#recording = new Recording(host, turns, model, {
      onHalt: (stop) => void this.#halt(stop),
      onFailure: (error) => {
        this.#failure ??= failed(error)
        void this.#cancel()
      },
      onStep: () => {
        if (this.#controls.stopping) void this.#cancel()
      },
    })
    const recording = this.#recording
    const onSuspend = (isOwn: boolean) =>
      this.#halt(isOwn ? { reason: "suspended", resumeBy: "repeat" } : { reason: "suspended" })
    const onLastTurn = () => this.#halt({ reason: "limit" })
    this.#gate = new AcpGate({ agent, host, recording, bridge, tools, servers, lastTurn, onLastTurn, onSuspend })
  }

  /** Never rejects. */
  async run(input: TurnInput): Promise<Stop> {
    const stop = await this.#work(input).catch((error) => failed(error))
    clearTimeout(this.#killTimer)
    this.#gate.close()
    await this.#recording.enqueue(() => this.#leave()).catch(() => undefined)
    if (this.#failure) return this.#failure
    if (this.#halted) return this.#halted
    return stop.reason === "failed" && this.#controls.stopping ? { reason: "interrupted" } : stop
  }

  steer(message: SteerMessage): boolean {
    return this.#controls.steer(message)
  }

  interrupt(mode: InterruptMode): void {
    this.#controls.interrupt(mode)
    if (mode === "immediate") void this.#cancel()
  }

  /** An update of the session. */
  notified(params: Json): void {
    const event = translate(objectOf(params).update)
    if (event === undefined) return
    void this.#recording.enqueue(() => {
      switch (event.type) {
        case "text":
        case "reasoning":
          if (isNote(this.#parts.agent, event.delta)) return undefined
          return this.#recording.addDelta(event.type, event.delta)
        case "call":
          return this.#gate.update(event.call, this.#isCancelled)
        case "usage":
          return this.#used(event)
      }
    })
  }

  question(question: PermissionQuestion): Promise<Json> {
    return this.#gate.question(question)
  }

  callTool(name: string, args: Json): Promise<ToolOutcome> {
    return this.#gate.callTool(name, args)
  }

  async #work(input: TurnInput): Promise<Stop> {
    let content = this.#first(input)
    for (;;) {
      if (this.#controls.stopping) return { reason: "interrupted" }
      const end = await this.#prompt(content)
      const stop = this.#halted ?? this.#stopOf(end)
      if (stop) return stop
      const next = await this.#next()
      if ("reason" in next) return next
      content = next.texts.map((text) => ({ type: "text", text }))
    }
  }

  /** Records what is left when the agent has stopped. */
  #leave(): void {
    // An agent that has crashed no longer reports a count.
    this.#recordRequests()
    this.#recording.leave(this.#controls.stopping)
  }

  #first(input: TurnInput): readonly ContentPart[] {
    const { before } = this.#parts
    if (input.kind === "prompt") return [...before, ...input.content]
    const answers = input.answers.map((answer): ContentPart => ({ type: "text", text: answerText(answer) }))
    const content = [...answers, ...(input.content ?? [])]
    return [...before, ...(content.length > 0 ? content : [{ type: "text", text: "Go on." } as const])]
  }

  /** Sends a message and resolves when the agent has answered it and all of that is recorded. */
  async #prompt(content: readonly ContentPart[]): Promise<PromptEnd> {
    const { rpc, sessionId, takesImages, host, stored } = this.#parts
    const prompt = promptOf(content, takesImages)
    this.#isPrompted = true
    const reply = rpc.request("session/prompt", { sessionId, prompt }, { replyMs: null })
    const end = this.#ofPrompt(readPromptEnd(await reply))
    await this.#recording.idle()
    if (end.model !== "") this.#recording.steps.model = end.model
    this.#measure(end)
    host.emit(stored(this.#meter.counted))
    return end
  }

  /** Takes what the newest request has used so far. The agent's own count comes with the end of the prompt. */
  #used({ tokens = 0, usd }: AcpEvent & { readonly type: "usage" }): void {
    const { turn: newest, continues } = this.#recording.steps
    // A report may come before the answer of its request.
    const turn = continues ? newest : newest + 1
    if (usd !== undefined) this.#costUsd = usd
    this.#perTurn.set(turn, Math.max(tokens, this.#perTurn.get(turn) ?? 0))
    // Other agents of the run, and a process that takes it over, have to count it.
    if (this.#parts.isLimited) this.#recordRequests()
  }

  /** Records the requests so far, each token once. */
  #recordRequests(): void {
    const inputTokens = Math.max(0, this.#counted() - this.#recorded)
    const costUsd = this.#newCost()
    this.#meter.add({ ...noUsage, inputTokens, costUsd }, this.#recording.steps.model || undefined)
    this.#recorded += inputTokens
  }

  #newCost(): number | null {
    const { costUsd } = this.#meter.counted
    return this.#parts.agent.reportsCost ? Math.max(0, this.#costUsd - (costUsd ?? 0)) : null
  }

  /** The tokens of this prompt. */
  #counted(): number {
    return [...this.#perTurn.values()].reduce((sum, tokens) => sum + tokens, 0)
  }

  /** With the usage of this prompt alone. */
  #ofPrompt(end: PromptEnd): PromptEnd {
    const { agent, count } = this.#parts
    if (!agent.countsProcess || end.usage.inputTokens === 0) return end
    const usage = usedSince(count.reported, end.usage)
    count.reported = end.usage
    return { ...end, usage }
  }

  #measure({ usage, model }: PromptEnd): void {
    this.#meter.add(
      { ...this.#tokensOf(usage), costUsd: this.#newCost() },
      model === "" ? this.#recording.steps.model || undefined : model,
    )
  }

  /** An agent that is stopped may report nothing: then its running count is all that is known, or nothing is. */
  #tokensOf(usage: TokenCount): Pick<Usage, keyof TokenCount> {
    const { turn } = this.#recording.steps
    const turns = turn - this.#lastTurn
    this.#lastTurn = turn
    const [counted, recorded] = [this.#counted(), this.#recorded]
    this.#perTurn.clear()
    this.#recorded = 0
    if (this.#parts.agent.countsLastRequest && turns > 1) return unknownTokens
    if (usage.inputTokens + usage.outputTokens + usage.cacheReadTokens > 0) return without(usage, recorded)
    return counted > 0 ? { ...noTokens, inputTokens: counted - recorded } : unknownTokens
  }

  /** Undefined: the agent has answered. */
  #stopOf({ stopReason, usage }: PromptEnd): Stop | undefined {
    const { agent } = this.#parts
    if (this.#isCancelled && this.#controls.stopping) return { reason: "interrupted" }
    switch (stopReason) {
      case "end_turn": {
        const failure = toldFailure(agent, this.#recording.lastDelta, usage.outputTokens > 0)
        if (failure) this.#recording.dropText()
        return failure && failed(failure)
      }
      case "cancelled":
        // It stops on a refusal, too.
        return this.#gate.hasRefusals ? undefined : failed(unexpected(agent, stopReason))
      case "max_tokens":
        return { reason: "output-limit" }
      case "refusal":
        return { reason: "refusal" }
      default:
        return failed(unexpected(agent, stopReason))
    }
  }

  /** The next message for the model, or the end. */
  async #next(): Promise<Stop | { readonly texts: readonly string[] }> {
    const { host } = this.#parts
    const refusals = this.#gate.takeRefusals()
    const ended = await this.#recording.end()
    if (ended) return ended
    const { text, turn } = this.#recording.steps
    const validationError = refusals.length > 0 ? undefined : await host.review(text)
    const repairs = validationError === undefined ? refusals : [validationError]
    const steers = this.#controls.takeSteers(repairs.length === 0)
    if (steers === "closed") return { reason: "done", text }
    if (turn >= this.#parts.lastTurn) return { reason: "limit" }
    const sent = repairs.map((each) => host.emit({ type: "steer", text: each, reason: "repair" }).text)
    return { texts: [...sent, ...steers.map((each) => host.emit({ type: "steer", ...each }).text)] }
  }

  /** Stops the work for a reason of the run. Resolves when the agent has received the request. */
  #halt(stop: Stop): Promise<void> {
    this.#halted ??= stop
    return this.#cancel()
  }

  /** Asks the agent to stop; if it does not, it is killed. */
  async #cancel(): Promise<void> {
    const { rpc, channel, sessionId, stopMs } = this.#parts
    if (this.#isCancelled || !this.#isPrompted) return
    this.#isCancelled = true
    this.#killTimer = setTimeout(() => void channel.end("kill"), stopMs)
    await rpc.notify("session/cancel", { sessionId })
  }
}

function failed(error: unknown): Stop {
  const failure = LonghaulError.is(error)
    ? error
    : new LonghaulError("internal", "The session with the agent failed unexpectedly.", { cause: error })
  return { reason: "failed", failure: failure.toJSON() }
}

function unexpected({ title }: AcpAgent, stopReason: string): LonghaulError {
  const code = stopReason === "max_turn_requests" ? "max_turns" : "unexpected_stop"
  return new LonghaulError(code, `${title} stopped without an answer (${stopReason || "no reason"}).`, {
    fix: "Resume the run.",
  })
}
