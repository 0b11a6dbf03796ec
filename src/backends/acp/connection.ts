import type { BackendEnv, LineChannel, ProgramSpec } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { JsonRpc, type JsonRpcOptions } from "../shared/json-rpc.ts"
import type { AcpAgent } from "./agents.ts"
import { replyError } from "./failures.ts"
import { type AgentFacts, PROTOCOL_VERSION, readAgent } from "./protocol.ts"

/** A running agent that has been greeted. */
export interface Connection {
  readonly channel: LineChannel
  readonly rpc: JsonRpc
  readonly facts: AgentFacts
}

export type Handlers = Pick<JsonRpcOptions, "onLine" | "onNotification" | "onRequest">

/** Starts the program and greets it. It gets no access to files and terminals of this process: it has its own. */
export async function connect(
  agent: AcpAgent,
  env: BackendEnv,
  program: ProgramSpec,
  handlers: Handlers,
): Promise<Connection> {
  if (!env.spawn) {
    throw new LonghaulError("capability_mismatch", "This host cannot start programs.", {
      fix: "Use the runtime of longhaul/node.",
    })
  }
  const channel = await env.spawn(program)
  try {
    const { openMs, replyMs } = env.deadlines
    const rpc = new JsonRpc(channel, {
      name: agent.title,
      versioned: true,
      replyMs,
      toError: (reply) => replyError(agent, reply),
      onLine: () => handlers.onLine?.(),
      onNotification: (method, params) => handlers.onNotification(method, params),
      onRequest: (method, params) => handlers.onRequest(method, params),
    })
    const { clientInfoName: name, clientInfoTitle: title, mcpClientVersion: version } = env.brand
    const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
    const greeting = { protocolVersion: PROTOCOL_VERSION, clientCapabilities, clientInfo: { name, title, version } }
    const facts = readAgent(await rpc.request("initialize", greeting, { replyMs: openMs }))
    if (facts.protocolVersion !== PROTOCOL_VERSION) throw otherProtocol(agent, facts)
    return { channel, rpc, facts }
  } catch (error) {
    await channel.end("kill")
    throw error
  }
}

function otherProtocol({ title }: AcpAgent, { protocolVersion }: AgentFacts): LonghaulError {
  return new LonghaulError(
    "backend_protocol",
    `${title} uses version ${protocolVersion} of the Agent Client Protocol, not ${PROTOCOL_VERSION}.`,
    { fix: "Use a version of the program that supports it." },
  )
}
