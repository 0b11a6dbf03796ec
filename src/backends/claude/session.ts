import type { BackendSession, OpenRequest } from "../../contract/backend.ts"
import type { BackendEnv, Loopback } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { InterruptMode, SessionRef, SteerMessage } from "../../contract/session.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { noUsage } from "../../lib/usage.ts"
import { sessionLost } from "./program.ts"
import { ClaudeRun, type SessionFacts } from "./run.ts"
import { type ServerConfig, serverConfig } from "./servers.ts"
import { enforcement, ToolNames } from "./tools.ts"
import { objectIn, textIn } from "./translate.ts"
import type { ClaudeProgram } from "./wire.ts"

/** The settings that a program is started with. */
export interface Launch {
  readonly request: OpenRequest
  readonly sessionId: string
  readonly isResumed: boolean
  readonly mcp: ServerConfig
}

/** Opens a session of Claude Code. `start`: starts the program and returns when it takes messages. */
export async function openClaude(
  backend: string,
  request: OpenRequest,
  env: BackendEnv,
  start: (launch: Launch) => Promise<ClaudeProgram>,
): Promise<BackendSession> {
  const { from, tools, mcpServers, outputSchema } = request
  // The program refuses other ids before it looks for the session.
  if (from.kind === "session" && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(from.ref.id)) throw sessionLost()
  const names = new ToolNames(tools, Object.keys(mcpServers), outputSchema !== undefined)
  const facts = from.kind === "session" ? factsIn(from.ref) : { counted: noUsage }
  const sessionId = from.kind === "session" ? from.ref.id : crypto.randomUUID()
  const callId = (wireId: string) => `${sessionId.slice(0, 8)}-${wireId}`
  let run: ClaudeRun | undefined
  const early: { mode: InterruptMode | undefined; messages: SteerMessage[] } = { mode: undefined, messages: [] }
  const loopback = await bridgeOf(request, env, (wireId) => run?.gate.outcomeOf(callId(wireId)))
  try {
    const bridge = loopback ? { [names.bridge]: { type: "http", ...loopback.mcp } as const } : {}
    const mcp = serverConfig(mcpServers, bridge)
    const program = await start({ request, sessionId, isResumed: from.kind === "session", mcp })
    const { version } = program
    let ref: SessionRef = {
      ...{ backend, version, id: sessionId, cwd: request.cwd, resumable: from.kind === "session" },
      data: asJson(facts),
    }
    const model = typeof request.model === "string" ? request.model : (request.model?.id ?? "")
    return {
      get ref() {
        return ref
      },
      run(input, host) {
        run = new ClaudeRun({
          ...{ program, host, names, facts, model, early, callId, turns: from.turns },
          lastTurn: request.limits.turns,
          isLimited: request.limits.reserved,
          stopMs: env.deadlines.stopMs,
          brief: from.kind === "history" ? from.brief() : "",
          stored(now) {
            ref = { ...ref, resumable: true, data: asJson(now) }
            return { type: "session", ref, enforcement, ...(model !== "" && { model }) }
          },
        })
        return run.run(input)
      },
      steer: (message) => (run ? run.steer(message) : early.messages.push(message) > 0),
      interrupt(mode) {
        if (run) run.interrupt(mode)
        else early.mode = mode
      },
      async close() {
        await program.close()
        await loopback?.close()
      },
    }
  } catch (error) {
    await loopback?.close()
    throw error
  }
}

/** The runtime's tools as an MCP server. The gate has run a call before the program makes it. */
async function bridgeOf(
  { tools }: OpenRequest,
  { loopback }: BackendEnv,
  outcomeOf: (wireId: string) => ToolOutcome | undefined,
): Promise<Loopback | undefined> {
  if (tools.length === 0) return undefined
  if (loopback === undefined) {
    throw new LonghaulError("capability_mismatch", "This host cannot offer the runtime's tools to a program.", {
      fix: "Use the runtime of longhaul/node.",
    })
  }
  const refused: ToolOutcome = { status: "denied", output: [{ type: "text", text: "Not run: no run is active." }] }
  return loopback({ tools, callTool: async ({ callId = "" }) => outcomeOf(callId) ?? refused })
}

function asJson({ counted, deferred }: SessionFacts): Json {
  return { counted: { ...counted }, ...(deferred !== undefined && { deferred }) }
}

function factsIn({ data }: SessionRef): SessionFacts {
  if (!isJsonObject(data)) return { counted: noUsage }
  const counted = objectIn(data, "counted")
  const count = (name: keyof typeof noUsage) => {
    const value = counted[name]
    return typeof value === "number" ? value : 0
  }
  const deferred = textIn(data, "deferred")
  return {
    counted: {
      inputTokens: count("inputTokens"),
      outputTokens: count("outputTokens"),
      cacheReadTokens: count("cacheReadTokens"),
      cacheWriteTokens: count("cacheWriteTokens"),
      costUsd: count("costUsd"),
    },
    ...(deferred !== "" && { deferred }),
  }
}
