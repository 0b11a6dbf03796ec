import type { BackendSession, OpenRequest, Stop, ToolCall, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { BackendEnv, Loopback } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { Usage } from "../../contract/result.ts"
import type { InterruptMode, SessionRef, SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { textOrEmpty } from "../../lib/json.ts"
import { noUsage } from "../../lib/usage.ts"
import { Controls } from "../shared/controls.ts"
import { type Connection, checkLogin, type Handlers } from "./connection.ts"
import { CodexGate } from "./gate.ts"
import { listOf, objectOf } from "./protocol.ts"
import type { StepResult } from "./recording.ts"
import { execute, openThread, type Thread } from "./thread.ts"
import { ThreadRun } from "./thread-run.ts"
import { wireName } from "./translate.ts"

export interface SessionOptions {
  readonly sandbox: string
  /** Starts the program behind the gate. */
  connect(loopback: Loopback, handlers: Handlers): Promise<Connection>
}

/** Opens a session, or rejects and leaves nothing behind. */
export async function openSession(
  request: OpenRequest,
  env: BackendEnv,
  options: SessionOptions,
): Promise<BackendSession> {
  const link = new Link()
  const loopback = await env.loopback?.({
    tools: [],
    callTool: () => Promise.reject(new Error("This service has no tools.")),
    decide: (question) => link.decide(question),
  })
  if (!loopback) {
    throw new LonghaulError("capability_mismatch", "Codex needs a host with sockets.", {
      fix: "Use the runtime of longhaul/node.",
    })
  }
  let connection: Connection | undefined
  try {
    connection = await options.connect(loopback, link)
    await checkLogin(connection)
    const { openMs, stopMs } = env.deadlines
    const thread = await openThread(connection, request, { sandbox: options.sandbox, openMs })
    return new CodexSession({ thread, request, loopback, link, stopMs, shell: env.variable?.("SHELL") })
  } catch (error) {
    await connection?.channel.end("kill")
    await loopback.close()
    throw error
  }
}

/** Passes what comes from the program to the current run. Without one, nothing is permitted. */
class Link implements Handlers {
  run: ThreadRun | undefined
  gate: CodexGate | undefined

  onLine(): void {
    this.run?.alive()
  }

  onNotification(method: string, params: Json): void {
    this.run?.notified(method, params)
  }

  onRequest(method: string, params: Json): Promise<Json> | undefined {
    if (method === "item/tool/call" && this.run) return this.run.callTool(params)
    const answer = this.gate?.approval(method, params)
    return answer === undefined ? undefined : Promise.resolve(answer)
  }

  decide(question: Json): Promise<Json> {
    return this.gate && this.run ? this.gate.question(question) : Promise.reject(new Error("No run is active."))
  }
}

interface SessionParts {
  readonly thread: Thread
  readonly request: OpenRequest
  readonly loopback: Loopback
  readonly link: Link
  readonly stopMs: number
  readonly shell: string | undefined
}

class CodexSession implements BackendSession {
  ref: SessionRef
  readonly #parts: SessionParts
  readonly #controls = new Controls()
  #closed: Promise<void> | undefined

  constructor(parts: SessionParts) {
    const { thread, request } = parts
    this.#parts = parts
    const { id, version } = thread
    const { from, cwd } = request
    const kept = from.kind === "session" ? from.ref : undefined
    this.ref = { backend: "codex", version, id, cwd, resumable: kept !== undefined, data: kept?.data ?? {} }
  }

  async run(input: TurnInput, host: TurnHost): Promise<Stop> {
    const { thread, request, link, stopMs } = this.#parts
    const { counted, left } = readData(this.ref.data)
    const ours = new Set(request.tools.map(({ name }) => wireName(name)))
    const servers = Object.keys(request.mcpServers)
    const gate = new CodexGate(
      { ours, servers, cwd: thread.cwd, isSandboxed: objectOf(thread.sandbox).type !== "dangerFullAccess" },
      { ask: (own) => run.ask(own), refused: (callId, reason) => run.refused(callId, reason) },
    )
    const run = new ThreadRun({
      ...{ thread, request, host, gate, stopMs, counted, left },
      controls: this.#controls,
      onProgress: (total, results) => this.#progress(host, total, results),
    })
    link.gate = gate
    link.run = run
    const stop = await run.run(input)
    link.gate = undefined
    link.run = undefined
    return stop
  }

  steer(message: SteerMessage): boolean {
    const isTaken = this.#controls.steer(message)
    this.#parts.link.run?.sendSteers()
    return isTaken
  }

  interrupt(mode: InterruptMode): void {
    this.#controls.interrupt(mode)
    if (mode === "immediate") this.#parts.link.run?.interruptTurn()
  }

  execute(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    const { thread, shell = "" } = this.#parts
    return execute(thread, call, { shell: /\/(ba|z)sh$/.test(shell) ? shell : "/bin/bash", signal })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { thread, loopback } = this.#parts
    thread.channel.endInput()
    await thread.channel.end("ask")
    await loopback.close()
  }

  /** Codex stores a thread with its first turn. */
  #progress(host: TurnHost, counted: Usage, results?: readonly StepResult[]): void {
    const kept = results ?? readData(this.ref.data).left
    // Safe: a copy of plain data.
    const data = JSON.parse(JSON.stringify({ counted, ...(kept.length > 0 && { results: kept }) })) as Json
    if (this.ref.resumable && JSON.stringify(data) === JSON.stringify(this.ref.data)) return
    this.ref = { ...this.ref, resumable: true, data }
    host.emit({ type: "session", ref: this.ref })
  }
}

function readData(data: Json | undefined): { readonly counted: Usage; readonly left: readonly StepResult[] } {
  const { counted, results } = objectOf(data)
  return {
    counted: { ...noUsage, ...objectOf(counted) },
    left: listOf(results).map((result) => {
      const { callId, text, isCustom, isAnswered } = objectOf(result)
      return {
        callId: textOrEmpty(callId),
        text: textOrEmpty(text),
        isCustom: isCustom === true,
        isAnswered: isAnswered === true,
      }
    }),
  }
}
