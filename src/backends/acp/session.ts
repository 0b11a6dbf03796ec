import type { BackendSession, OpenRequest, Stop, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { BackendEnv, Loopback } from "../../contract/backend-env.ts"
import type { ContentPart } from "../../contract/content.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { InterruptMode, SessionRef, SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { noUsage } from "../../lib/usage.ts"
import { withOutputForm } from "../shared/output-form.ts"
import type { AcpAgent } from "./agents.ts"
import type { Connection, Handlers } from "./connection.ts"
import { bridgeName, checkReopening, checkServers, modelName, openAt } from "./opening.ts"
import { numberOf, objectOf, readQuestion } from "./protocol.ts"
import { AcpRun } from "./run.ts"
import { noTokens, serverList } from "./translate.ts"

export interface SessionOptions {
  readonly backend: string
  readonly agent: AcpAgent
  connect(handlers: Handlers): Promise<Connection>
}

/** Opens a new session or the requested one, or rejects and leaves nothing behind. */
export async function openSession(
  request: OpenRequest,
  env: BackendEnv,
  { backend, agent, connect }: SessionOptions,
): Promise<BackendSession> {
  const { from, mcpServers, tools } = request
  if (from.kind === "session") checkReopening(agent, from.ref)
  const link = new Link()
  const bridge = bridgeName(Object.keys(mcpServers))
  const loopback = tools.length === 0 ? undefined : await openBridge(request, env, link)
  let connection: Connection | undefined
  try {
    connection = await connect(link)
    checkServers(agent, connection, request)
    const ours = loopback ? { [bridge]: { type: "http", ...loopback.mcp } as const } : {}
    const { cwd } = request
    const place: JsonObject = { cwd, mcpServers: serverList({ ...mcpServers, ...ours }) }
    const sessionId = await openAt(agent, connection, request, place, env.deadlines.openMs)
    link.sessionId = sessionId
    if (from.kind === "session") await link.quiet()
    return new AcpSession({ backend, agent, connection, request, link, bridge, loopback, sessionId, env })
  } catch (error) {
    await connection?.channel.end("kill")
    await loopback?.close()
    throw error
  }
}

/** Passes what comes from the agent to the current run. Without one, nothing is permitted. */
class Link implements Handlers {
  run: AcpRun | undefined
  host: TurnHost | undefined
  sessionId = ""
  #lastUpdate = 0

  onLine(): void {
    this.host?.alive()
  }

  onNotification(method: string, params: Json): void {
    if (method !== "session/update") return
    this.#lastUpdate = performance.now()
    if (objectOf(params).sessionId === this.sessionId) this.run?.notified(params)
  }

  onRequest(method: string, params: Json): Promise<Json> | undefined {
    if (method !== "session/request_permission") return undefined
    const question = readQuestion(params)
    if (this.run === undefined || question.sessionId !== this.sessionId) {
      return Promise.resolve({ outcome: { outcome: "cancelled" } })
    }
    return this.run.question(question)
  }

  async callTool(name: string, args: Json): Promise<ToolOutcome> {
    const idle: ToolOutcome = { status: "denied", output: [{ type: "text", text: "Not run: no run is active." }] }
    return this.run?.callTool(name, args) ?? idle
  }

  /** Agents repeat the conversation when they load a session, partly after their reply. */
  async quiet(): Promise<void> {
    const since = performance.now()
    this.#lastUpdate = since
    while (performance.now() - this.#lastUpdate < QUIET_MS && performance.now() - since < MAX_REPLAY_MS) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 4))
    }
  }
}

interface SessionParts {
  readonly backend: string
  readonly agent: AcpAgent
  readonly connection: Connection
  readonly request: OpenRequest
  readonly link: Link
  readonly bridge: string
  readonly loopback: Loopback | undefined
  readonly sessionId: string
  readonly env: BackendEnv
}

class AcpSession implements BackendSession {
  ref: SessionRef
  readonly #parts: SessionParts
  readonly #before: readonly ContentPart[]
  readonly #count = { reported: noTokens }
  #closed: Promise<void> | undefined

  constructor(parts: SessionParts) {
    const { backend, request, connection, sessionId } = parts
    const { from, cwd } = request
    const data = from.kind === "session" ? from.ref.data : { createdAt: Date.now() }
    this.#parts = parts
    this.ref = {
      ...{ backend, version: connection.facts.version, id: sessionId, cwd },
      resumable: from.kind === "session",
      ...(data !== undefined && { data }),
    }
    this.#before = from.kind === "session" ? [] : openingTexts(request)
  }

  async run(input: TurnInput, host: TurnHost): Promise<Stop> {
    const { agent, connection, request, link, bridge, sessionId, env } = this.#parts
    const run = new AcpRun({
      ...{ agent, rpc: connection.rpc, channel: connection.channel, host, sessionId, bridge },
      tools: request.tools.map(({ name }) => name),
      servers: Object.keys(request.mcpServers),
      turns: request.from.turns,
      lastTurn: request.limits.turns,
      isLimited: request.limits.reserved,
      model: modelName(request) ?? "",
      takesImages: connection.facts.takesImages,
      stopMs: env.deadlines.stopMs,
      counted: countedIn(this.ref),
      count: this.#count,
      before: this.#before,
      stored: (counted) => this.#stored(counted),
    })
    link.host = host
    link.run = run
    try {
      return await run.run(input)
    } finally {
      link.run = undefined
      link.host = undefined
    }
  }

  steer(message: SteerMessage): boolean {
    return this.#parts.link.run?.steer(message) ?? false
  }

  interrupt(mode: InterruptMode): void {
    this.#parts.link.run?.interrupt(mode)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { connection, loopback, sessionId, env } = this.#parts
    const { channel, rpc, facts } = connection
    if (facts.closesSessions) {
      await rpc.request("session/close", { sessionId }, { replyMs: env.deadlines.stopMs }).catch(() => undefined)
    }
    channel.endInput()
    await channel.end("ask")
    await loopback?.close()
  }

  /** Agents store a session with its first answer. */
  #stored(counted: Usage) {
    const data = { ...objectOf(this.ref.data), counted: { ...counted } }
    this.ref = { ...this.ref, resumable: this.#parts.connection.facts.reopens !== undefined, data }
    return { type: "session", ref: this.ref } as const
  }
}

function openBridge({ tools }: OpenRequest, { loopback }: BackendEnv, link: Link): Promise<Loopback> {
  if (loopback) return loopback({ tools, callTool: ({ name, args }) => link.callTool(name, args) })
  throw new LonghaulError("capability_mismatch", "This host cannot offer the runtime's tools to a program.", {
    fix: "Use the runtime of longhaul/node.",
  })
}

/** The protocol has no system prompt. */
function openingTexts({ system, outputSchema, from }: OpenRequest): readonly ContentPart[] {
  const instructions = withOutputForm(system, outputSchema)
  const brief = from.kind === "history" ? from.brief() : ""
  return [instructions ?? "", brief].filter((text) => text !== "").map((text) => ({ type: "text", text }))
}

function countedIn({ data }: SessionRef): Usage {
  const counted = objectOf(objectOf(data).counted)
  const count = (name: keyof Usage) => (counted[name] === undefined ? noUsage[name] : (numberOf(counted[name]) ?? null))
  return {
    inputTokens: count("inputTokens"),
    outputTokens: count("outputTokens"),
    cacheReadTokens: count("cacheReadTokens"),
    cacheWriteTokens: count("cacheWriteTokens"),
    costUsd: count("costUsd"),
  }
}

const QUIET_MS = 200
const MAX_REPLAY_MS = 5000
