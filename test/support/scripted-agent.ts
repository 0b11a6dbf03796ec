import type { BackendEvent, OpenRequest, Permit, TurnHost } from "../../src/contract/backend.ts"
import type { BackendEnv, LineChannel, LoopbackService, ProgramExit } from "../../src/contract/backend-env.ts"
import type { Json, JsonObject } from "../../src/contract/json.ts"
import type { ToolOutcome } from "../../src/contract/tool.ts"
import { defaultBrand } from "../../src/lib/brand.ts"
import { fetchTransport } from "../../src/lib/fetch-transport.ts"
import { isJsonObject } from "../../src/lib/json.ts"

type Answer = (params: JsonObject, agent: ScriptedAgent) => Promise<Json> | Json

/** An agent of the Agent Client Protocol in this process, whose misbehaviour the test controls. */
export class ScriptedAgent implements LineChannel {
  /** Everything that it received. */
  readonly received: JsonObject[] = []
  readonly lines: AsyncIterable<string>
  readonly exit: Promise<ProgramExit>
  /** How the client ended it. */
  ended: string[] = []
  readonly #answers: Readonly<Record<string, Answer>>
  readonly #written: string[] = []
  readonly #asked = new Map<number, (reply: JsonObject) => void>()
  #wake: () => void = () => {}
  #hasExited = false
  #exited: (exit: ProgramExit) => void = () => {}
  #lastId = 0

  /** `answers`: by method. A thrown value is the error of the reply. */
  constructor(answers: Readonly<Record<string, Answer>>) {
    const initialize = () => ({
      protocolVersion: 1,
      agentInfo: { name: "Scripted", version: "1.2.3" },
      agentCapabilities: { loadSession: true, mcpCapabilities: { http: true, sse: true } },
    })
    this.#answers = { initialize, "session/new": () => ({ sessionId: "s1" }), "session/load": () => ({}), ...answers }
    this.lines = this.#read()
    this.exit = new Promise((resolve) => {
      this.#exited = resolve
    })
  }

  /** The messages of one method. */
  sent(method: string): readonly Json[] {
    return this.received.filter((message) => message.method === method).map(({ params }) => params ?? null)
  }

  async send(line: string): Promise<void> {
    const message: unknown = JSON.parse(line)
    if (!isJsonObject(message)) throw new Error("The client sent no object")
    this.received.push(message)
    const { id, method, params } = message
    if (typeof method !== "string") {
      if (typeof id === "number") this.#asked.get(id)?.(message)
      return
    }
    const answer = this.#answers[method]
    if (typeof id !== "number") {
      void answer?.(isJsonObject(params) ? params : {}, this)
      return
    }
    void this.#reply(id, async () => answer?.(isJsonObject(params) ? params : {}, this) ?? {})
  }

  /** An update of the session. */
  update(update: JsonObject, sessionId = "s1"): void {
    this.write({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } })
  }

  say(text: string): void {
    this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } })
  }

  /** Sends a request to the client and resolves to its reply. */
  ask(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId
    this.write({ jsonrpc: "2.0", id, method, params })
    return new Promise((resolve) => this.#asked.set(id, resolve))
  }

  /** Asks whether a call may run; resolves to the chosen option, or to `cancelled`. */
  async askPermission(toolCall: JsonObject, kinds: readonly string[] = ["allow_once", "reject_once"]): Promise<string> {
    const options = kinds.map((kind) => ({ optionId: `id of ${kind}`, kind, name: kind }))
    const { result } = await this.ask("session/request_permission", { sessionId: "s1", toolCall, options })
    const { outcome } = isJsonObject(result) ? result : {}
    const { outcome: how, optionId } = isJsonObject(outcome) ? outcome : {}
    return String(how === "selected" ? optionId : how)
  }

  write(line: Json | { readonly raw: string }): void {
    const isRaw = isJsonObject(line) && typeof line.raw === "string"
    this.#written.push(isRaw ? String(line.raw) : JSON.stringify(line))
    this.#wake()
  }

  /** True once everything that it wrote was read. */
  get isRead(): boolean {
    return this.#written.length === 0
  }

  crash(stderr: string): void {
    this.#hasExited = true
    this.#exited({ code: 1, signal: null, stderr })
    this.#wake()
  }

  endInput(): void {}

  async end(how: "ask" | "kill"): Promise<void> {
    this.ended.push(how)
    this.crash("ended by the client")
  }

  async #reply(id: number, answer: () => Promise<Json>): Promise<void> {
    try {
      this.write({ jsonrpc: "2.0", id, result: await answer() })
    } catch (error) {
      this.write({ jsonrpc: "2.0", id, error: isJsonObject(error) ? error : { code: -32603, message: String(error) } })
    }
  }

  async *#read(): AsyncGenerator<string> {
    for (;;) {
      const line = this.#written.shift()
      if (line !== undefined) {
        yield line
        continue
      }
      if (this.#hasExited) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/** A host with one program, the scripted agent. `service`: the tools that the backend offers to it. */
export function hostOf(
  agent: ScriptedAgent,
  files: readonly string[] = [],
): BackendEnv & { readonly service: { current?: LoopbackService } } {
  const service: { current?: LoopbackService } = {}
  return {
    service,
    brand: defaultBrand,
    transport: fetchTransport(),
    deadlines: { openMs: 60_000, replyMs: 60_000, stopMs: 60_000 },
    spawn: async () => agent,
    exists: async (path) => files.includes(path),
    stateFile: async (name) => `/state/${name}`,
    async loopback(given) {
      service.current = given
      return { mcp: { url: "http://127.0.0.1:1/mcp", headers: {} }, gate: [], close: async () => {} }
    },
  }
}

export const openingRequest: OpenRequest = {
  runId: "run_1",
  cwd: "/project",
  tools: [{ name: "send", description: "Sends.", inputSchema: { type: "object" } }],
  withoutTools: [],
  mcpServers: {},
  settings: {},
  limits: { turns: 10, reserved: false },
  from: { kind: "history", messages: [], turns: 0, brief: () => "" },
}

/** A runtime that records what a backend tells, and decides by the tool's name. */
export class RecordingHost implements TurnHost {
  readonly deltas: boolean = false
  readonly events: BackendEvent[] = []
  /** The calls that it was asked about: name, arguments, and whether they are inexact. */
  readonly asked: Json[] = []
  readonly ran: Json[] = []
  readonly #decide: (name: string, args: Json) => Permit

  constructor(decide: (name: string, args: Json) => Permit) {
    this.#decide = decide
  }

  /** What was recorded, without the ids. */
  get told(): readonly string[] {
    return this.events.flatMap((event) => {
      if (event.type === "text-end") return [`text ${event.text}${event.partial ? " (partial)" : ""}`]
      if (event.type === "tool-call") return [`call ${event.name} ${JSON.stringify(event.args)}`]
      if (event.type === "tool-result") return [`result ${event.outcome.status}`]
      if (event.type === "steer") return [`steer ${event.text}`]
      return event.type === "warning" ? [`warning ${event.code}`] : []
    })
  }

  beginTurn: TurnHost["beginTurn"] = async () => undefined
  endTurn: TurnHost["endTurn"] = async () => undefined
  review = async (): Promise<string | undefined> => undefined
  show(): void {}
  alive(): void {}
  startsEarly = () => false
  beginCompaction: TurnHost["beginCompaction"] = async () => ({ text: "" })
  endCompaction: TurnHost["endCompaction"] = async () => undefined

  emit<Event extends BackendEvent>(event: Event): Event {
    this.events.push(event)
    return event
  }

  async callTool({ name, args }: Parameters<TurnHost["callTool"]>[0]): Promise<ToolOutcome> {
    this.ran.push([name, args])
    return { status: "ok", output: [{ type: "text", text: "sent" }] }
  }

  async authorize({ name, args, inexact }: Parameters<TurnHost["authorize"]>[0]): Promise<Permit> {
    this.asked.push([name, args, inexact === true])
    return this.#decide(name, args)
  }
}

export const allowEverything = (_: string, args: Json): Permit => ({ kind: "run", args })
