import type {
  Backend,
  BackendSession,
  OpenRequest,
  SteerEvent,
  Stop,
  ToolCall,
  TurnHost,
  TurnInput,
} from "../contract/backend.ts"
import type { Capabilities, OwnTool } from "../contract/capabilities.ts"
import type { ContentPart } from "../contract/content.ts"
import { type Failure, LonghaulError } from "../contract/error.ts"
import type { Json } from "../contract/json.ts"
import type { InterruptMode, ResumeBy, SteerMessage } from "../contract/session.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { onAbort } from "../lib/abort.ts"
import { plainText } from "../lib/content.ts"
import { newNonce } from "../lib/id.ts"
import { checkShape, having, required, words } from "../lib/schema/shape.ts"
import { noUsage } from "../lib/usage.ts"
import type { SimulatedAnswer, SimulatedMessage, SimulatedRequest, SimulatedToolResult } from "./simulated.ts"

export interface FakeBackendOptions {
  readonly name?: string
  /** The vendor's model. An exception with a `Failure` code fails the run. */
  readonly script: (request: SimulatedRequest) => SimulatedAnswer | Promise<SimulatedAnswer>
  /** How a suspended call of its own tool continues. Default `replay`. */
  readonly resumeBy?: ResumeBy
  /** The effect of its own tool `Write`. */
  readonly write?: (args: Json) => void
  /** The matches of its own tool `Grep`. Absent: it has no such tool. */
  readonly search?: (args: Json) => string
  /** The sessions that the vendor has stored, for several processes. */
  readonly sessions?: Map<string, FakeSession>
  readonly capabilities?: Partial<Capabilities>
}

/** A stored conversation of the vendor. `open`: calls that its model waits for. */
export interface FakeSession {
  readonly messages: SimulatedMessage[]
  open: readonly ToolCall[]
}

const writeTool: OwnTool = { name: "Write", nativeName: "fake_write", effect: "once", risk: "medium" }
const searchTool: OwnTool = { name: "Grep", nativeName: "fake_search", effect: "none", risk: "low" }

/** A backend without a program: it has a tool of its own, stores sessions, and suspends calls in each of the three ways. */
export function fakeBackend(options: FakeBackendOptions): Backend {
  checkShape<FakeBackendOptions>("fakeBackend", options, {
    name: "text",
    script: required("function"),
    resumeBy: words("settle", "replay", "repeat"),
    write: "function",
    search: "function",
    sessions: having({ get: required("function"), set: required("function") }),
    capabilities: "object",
  })
  const { name = "fake", resumeBy = "replay", sessions = new Map() } = options
  return {
    name,
    capabilities: {
      ...{ ...capabilities, ownTools: ownToolsOf(options), suspend: { ours: "settle", own: resumeBy } },
      ...options.capabilities,
    },
    probe: async () => ({ found: true, version: "1", login: "yes" }),
    async open(request) {
      const { from } = request
      const id = from.kind === "session" ? from.ref.id : newNonce()
      const stored: FakeSession | undefined = from.kind === "session" ? sessions.get(id) : { messages: [], open: [] }
      if (stored === undefined) throw new LonghaulError("session_lost", `${name} has no session ${id}.`)
      if (from.kind === "history" && from.messages.length > 0) stored.messages.push(user(from.brief()))
      sessions.set(id, stored)
      return new Session(options, request, stored, { name, id, resumeBy })
    },
  }
}

function ownToolsOf({ search }: FakeBackendOptions): readonly OwnTool[] {
  return search === undefined ? [writeTool] : [writeTool, searchTool]
}

class Session implements BackendSession {
  readonly ref
  readonly #options: FakeBackendOptions
  readonly #request: OpenRequest
  readonly #stored: FakeSession
  readonly #resumeBy: ResumeBy
  readonly #stop = new AbortController()
  #stopping = false
  #steers: SteerMessage[] = []
  #turn: number

  constructor(
    options: FakeBackendOptions,
    request: OpenRequest,
    stored: FakeSession,
    { name, id, resumeBy }: { readonly name: string; readonly id: string; readonly resumeBy: ResumeBy },
  ) {
    this.ref = { backend: name, version: "1", id, cwd: request.cwd, resumable: true }
    this.#options = options
    this.#request = request
    this.#stored = stored
    this.#resumeBy = resumeBy
    this.#turn = request.from.turns
  }

  async run(input: TurnInput, host: TurnHost): Promise<Stop> {
    try {
      return await this.#work(input, host)
    } catch (error) {
      if (this.#stop.signal.aborted) return { reason: "interrupted" }
      return { reason: "failed", failure: asFailure(error) }
    }
  }

  steer(message: SteerMessage): boolean {
    this.#steers.push(message)
    return true
  }

  interrupt(mode: InterruptMode): void {
    this.#stopping = true
    if (mode === "immediate") this.#stop.abort()
  }

  async execute({ args }: ToolCall): Promise<ToolOutcome> {
    this.#options.write?.(args)
    return said("written outside the loop")
  }

  async close(): Promise<void> {
    this.interrupt("immediate")
  }

  async #work(input: TurnInput, host: TurnHost): Promise<Stop> {
    const { messages } = this.#stored
    const replayed = this.#take(input)
    if (replayed.length > 0 && (await this.#runCalls(replayed, host)) === "suspended") return this.#suspended()
    for (;;) {
      if (this.#stopping) return { reason: "interrupted" }
      const turn = ++this.#turn
      const refused = await host.beginTurn(turn, () => ({ inputTokens: 0, outputTokens: 0 }))
      if (refused) return refused
      host.alive()
      const answer = await orAborted(this.#options.script(this.#asked()), this.#stop.signal)
      const { text, calls } = this.#record(answer, turn, host)
      messages.push({ ...assistant(text), toolCalls: calls.map(({ callId: id, name, args }) => ({ id, name, args })) })
      if (calls.length > 0 && (await this.#runCalls(calls, host)) === "suspended") return this.#suspended()
      const ended = await host.endTurn(turn)
      if (ended) return ended
      const validationError = calls.length === 0 ? await host.review(text) : undefined
      if (calls.length === 0 && validationError === undefined && this.#steers.length === 0)
        return { reason: "done", text }
      if (validationError !== undefined) this.#tell({ type: "steer", text: validationError, reason: "repair" }, host)
      for (const steer of this.#steers.splice(0)) this.#tell({ type: "steer", ...steer }, host)
    }
  }

  /** Adds the input to the conversation. Returns the calls that the vendor presents again. */
  #take(input: TurnInput): readonly ToolCall[] {
    const { messages, open } = this.#stored
    const answers = input.kind === "continue" ? input.answers : []
    const results: SimulatedToolResult[] = []
    const replayed: ToolCall[] = []
    for (const answer of answers) {
      const { callId: id } = answer.call
      if (answer.kind === "outcome") results.push(resultOf(id, answer.outcome))
      else if (answer.kind === "repeat") results.push(resultOf(id, said("Approved: call it again.")))
      else replayed.push(...open.filter(({ callId }) => callId === id))
    }
    if (results.length > 0) messages.push({ ...user(""), role: "tool", toolResults: results })
    if (input.content) messages.push(user(plainText(input.content, "\n")))
    this.#stored.open = []
    return replayed
  }

  #asked(): SimulatedRequest {
    const { messages } = this.#stored
    const last = messages.findLastIndex(({ role }) => role === "assistant")
    const tools = [...this.#request.tools, ...ownToolsOf(this.#options)].map(({ name }) => ({
      name,
      description: "",
      inputSchema: {},
    }))
    return {
      index: 0,
      protocol: "fake",
      path: "/",
      headers: {},
      body: null,
      model: "fake-model",
      messages,
      tools,
      settings: {},
      lastToolResults: messages.slice(last + 1).flatMap(({ toolResults }) => toolResults),
      lastUserText: messages.findLast(({ role, text }) => role === "user" && text !== "")?.text ?? "",
    }
  }

  #record(answer: SimulatedAnswer, turn: number, host: TurnHost) {
    const parts = typeof answer === "string" ? [{ text: answer }] : answer.parts
    const calls: ToolCall[] = []
    let text = ""
    for (const [index, part] of parts.entries()) {
      if ("text" in part) text += host.emit({ type: "text-end", turn, id: `${turn}.${index}`, text: part.text }).text
      if (!("toolCall" in part)) continue
      const { name, args = {}, id = newNonce() } = part.toolCall
      const call = { callId: id, name, args }
      calls.push(call)
      host.emit({ type: "tool-call", turn, ...call, ...(this.#ownTool(name) && { executor: "backend" }) })
    }
    const stopReason = calls.length > 0 ? "tool-calls" : "end"
    host.emit({ type: "usage", turn, usage: noUsage, model: "fake-model", stopReason })
    host.emit({ type: "metering", usage: { ...noUsage, inputTokens: 10, outputTokens: 5, costUsd: 0.001 } })
    return { text, calls }
  }

  async #runCalls(calls: readonly ToolCall[], host: TurnHost): Promise<"finished" | "suspended"> {
    const results: SimulatedToolResult[] = []
    const open: ToolCall[] = []
    for (const call of calls) {
      const outcome = await this.#runCall(call, host)
      if (outcome === "suspended") open.push(call)
      else results.push(resultOf(call.callId, outcome))
    }
    if (results.length > 0) this.#stored.messages.push({ ...user(""), role: "tool", toolResults: results })
    this.#stored.open = open
    return open.length > 0 ? "suspended" : "finished"
  }

  async #runCall(call: ToolCall, host: TurnHost): Promise<ToolOutcome | "suspended"> {
    const tool = this.#ownTool(call.name)
    if (tool === undefined) {
      const outcome = await host.callTool(call)
      return outcome.status === "suspended" ? "suspended" : outcome
    }
    const permit = await host.authorize(call, tool)
    if (permit.kind === "suspend") return "suspended"
    if (permit.kind === "refuse") return { ...said(permit.reason), status: "denied" }
    const outcome = said(this.#runOwn(tool, permit.args))
    host.emit({ type: "tool-result", callId: call.callId, outcome, durationMs: 0 })
    return outcome
  }

  #ownTool(called: string): OwnTool | undefined {
    return ownToolsOf(this.#options).find(({ name }) => name === called)
  }

  #runOwn(tool: OwnTool, args: Json): string {
    if (tool === searchTool) return this.#options.search?.(args) ?? ""
    this.#options.write?.(args)
    return "written"
  }

  #suspended(): Stop {
    const isOwn = this.#stored.open.some(({ name }) => this.#ownTool(name) !== undefined)
    return isOwn ? { reason: "suspended", resumeBy: this.#resumeBy } : { reason: "suspended" }
  }

  #tell(message: SteerEvent, host: TurnHost): void {
    this.#stored.messages.push(user(host.emit(message).text))
  }
}

function orAborted<Value>(work: Value | Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const unlink = onAbort(signal, () => reject(new Error("interrupted")))
    Promise.resolve(work).then(resolve, reject).finally(unlink)
  })
}

function said(text: string): ToolOutcome {
  const output: readonly ContentPart[] = [{ type: "text", text }]
  return { status: "ok", output }
}

function resultOf(id: string, { status, output }: ToolOutcome): SimulatedToolResult {
  return { id, text: plainText(output, "\n"), isError: status !== "ok" }
}

function user(text: string): SimulatedMessage {
  return { role: "user", text, attachments: [], signatures: [], toolCalls: [], toolResults: [] }
}

function assistant(text: string): SimulatedMessage {
  return { ...user(text), role: "assistant" }
}

function asFailure(error: unknown): Failure {
  if (LonghaulError.is(error)) return error.toJSON()
  return new LonghaulError("backend_crashed", "The fake backend's script failed.", { cause: error }).toJSON()
}

const capabilities: Omit<Capabilities, "ownTools"> = {
  provider: "fake",
  features: ["streaming", "tools", "interrupt", "file_access"],
  models: "own",
  history: "brief",
  resume: "session",
  suspend: { ours: "settle", own: "replay" },
  steer: "turn",
  structured: "text",
  metering: "call",
  tells: ["subagents", "compaction"],
  retries: true,
  reportsCost: true,
  enforcement: [{ tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" }],
  edge: false,
  contextTokens: 128_000,
  outputTokens: 8192,
  usdPer1k: { input: 0.01, output: 0.03 },
  latencyMs: 1000,
  coldStartMs: 0,
}
