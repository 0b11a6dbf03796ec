import type { OpenRequest } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { SessionRef } from "../../contract/session.ts"
import { textOrEmpty } from "../../lib/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import type { AcpAgent } from "./agents.ts"
import type { Connection } from "./connection.ts"
import { listOf, numberOf, objectOf } from "./protocol.ts"

/** Opens the session, and makes sure that the agent asks before it acts. */
export async function openAt(
  agent: AcpAgent,
  { rpc, facts }: Connection,
  request: OpenRequest,
  place: JsonObject,
  openMs: number,
): Promise<string> {
  const { from } = request
  const options = { replyMs: openMs }
  if (from.kind === "session" && facts.reopens === undefined) throw lost(agent, "it cannot open stored sessions")
  const reply =
    from.kind === "session"
      ? await rpc.request(facts.reopens ?? "", { ...place, sessionId: from.ref.id }, options)
      : await rpc.request("session/new", place, options)
  const { sessionId, modes, configOptions } = objectOf(reply)
  const id = from.kind === "session" ? from.ref.id : textOrEmpty(sessionId)
  if (id === "") throw new LonghaulError("backend_protocol", `${agent.title} opened a session without an id.`)
  const { mode, settings = {} } = agent.asks ?? {}
  const current = textOrEmpty(objectOf(modes).currentModeId)
  if (mode !== undefined && current !== "" && current !== mode) {
    await rpc.request("session/set_mode", { sessionId: id, modeId: mode })
  }
  const model = agent.modelArgs ? undefined : modelName(request)
  const wanted = { ...settings, ...(model !== undefined && { model }) }
  for (const [configId, value] of Object.entries(wanted)) {
    const option = listOf(configOptions)
      .map(objectOf)
      .find((each) => each.id === configId)
    if (option === undefined && configId === "model") throw noModelChoice(agent)
    if (option && option.currentValue !== value) {
      await rpc.request("session/set_config_option", { sessionId: id, configId, value })
    }
  }
  return id
}

export function checkReopening(agent: AcpAgent, { data }: SessionRef): void {
  const minute = (time: number) => Math.floor(time / 60_000)
  if (agent.loadsNextMinute && minute(numberOf(objectOf(data).createdAt)) === minute(Date.now())) {
    throw lost(agent, "it damages a session that it opens in the minute of its creation")
  }
}

export function checkServers(agent: AcpAgent, { facts }: Connection, { tools, mcpServers }: OpenRequest): void {
  const types = Object.values(mcpServers).map((server) => ("command" in server ? "stdio" : (server.type ?? "http")))
  const needsHttp = tools.length > 0 || types.includes("http")
  if ((facts.takesHttpServers || !needsHttp) && (facts.takesSseServers || !types.includes("sse"))) return
  throw new LonghaulError("capability_mismatch", `${agent.title} takes no MCP servers over HTTP.`, {
    fix: "Use it without tools, or use another agent.",
  })
}

/** No other server may have a name that begins like it: agents join the names of servers and tools. */
export function bridgeName(servers: readonly string[]): string {
  let name = "longhaul"
  while (servers.some((server) => mcpSafe(server).startsWith(name))) name += "x"
  return name
}

export function modelName({ model }: OpenRequest): string | undefined {
  return typeof model === "string" ? model : model?.id
}

function lost({ title }: AcpAgent, why: string): LonghaulError {
  return new LonghaulError("session_lost", `The session of ${title} cannot be opened again: ${why}.`, {
    fix: "Continue from the journal.",
  })
}

function noModelChoice({ title }: AcpAgent): LonghaulError {
  return new LonghaulError("config_invalid", `${title} offers no choice of models.`, {
    fix: "Omit the model, and choose it in the agent's own settings.",
  })
}
