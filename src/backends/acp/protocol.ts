import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject, textOrEmpty } from "../../lib/json.ts"

/** The parts of the Agent Client Protocol, version 1, that this backend reads. Everything else is ignored. */
export const PROTOCOL_VERSION = 1

/** An agent's description of itself. */
export interface AgentFacts {
  readonly version: string
  readonly protocolVersion: number
  /** How a stored session is opened. Undefined: it cannot be. */
  readonly reopens: "session/resume" | "session/load" | undefined
  readonly closesSessions: boolean
  readonly takesHttpServers: boolean
  readonly takesSseServers: boolean
  readonly takesImages: boolean
}

/** The known facts about a tool call. Updates complete them; an absent field means no news. */
export interface AcpCallFacts {
  readonly id: string
  readonly title?: string
  readonly kind?: string
  readonly status?: string
  readonly rawInput?: Json
  readonly rawOutput?: Json
  readonly content?: readonly JsonObject[]
  readonly locations?: readonly JsonObject[]
}

/** The question whether a call may run. */
export interface PermissionQuestion {
  readonly sessionId: string
  readonly call: AcpCallFacts
  readonly options: readonly { readonly id: string; readonly kind: string }[]
}

export function readAgent(reply: Json): AgentFacts {
  const { protocolVersion, agentInfo, agentCapabilities } = objectOf(reply)
  const { loadSession, mcpCapabilities, promptCapabilities, sessionCapabilities } = objectOf(agentCapabilities)
  const session = objectOf(sessionCapabilities)
  const canLoad = loadSession === true ? "session/load" : undefined
  const servers = objectOf(mcpCapabilities)
  return {
    version: textOrEmpty(objectOf(agentInfo).version) || "unknown",
    protocolVersion: numberOf(protocolVersion),
    reopens: isJsonObject(session.resume) ? "session/resume" : canLoad,
    closesSessions: isJsonObject(session.close),
    takesHttpServers: servers.http === true,
    takesSseServers: servers.sse === true,
    takesImages: objectOf(promptCapabilities).image === true,
  }
}

export function readCall(value: Json | undefined): AcpCallFacts {
  const { toolCallId, title, kind, status, rawInput, rawOutput, content, locations } = objectOf(value)
  return {
    id: textOrEmpty(toolCallId),
    ...(typeof title === "string" && { title }),
    ...(typeof kind === "string" && { kind }),
    ...(typeof status === "string" && { status }),
    ...(rawInput !== undefined && rawInput !== null && { rawInput }),
    ...(rawOutput !== undefined && rawOutput !== null && { rawOutput }),
    ...(Array.isArray(content) && { content: content.filter(isJsonObject) }),
    ...(Array.isArray(locations) && { locations: locations.filter(isJsonObject) }),
  }
}

export function readQuestion(params: Json): PermissionQuestion {
  const { sessionId, toolCall, options } = objectOf(params)
  return {
    sessionId: textOrEmpty(sessionId),
    call: readCall(toolCall),
    options: listOf(options).map((option) => {
      const { optionId, kind } = objectOf(option)
      return { id: textOrEmpty(optionId), kind: textOrEmpty(kind) }
    }),
  }
}

/**
 * Answers by the kind of an option, never by its place, and only for this one call. Without a fitting option the question
 * is answered as cancelled, which runs nothing.
 */
export function permissionAnswer({ options }: PermissionQuestion, kind: "allow_once" | "reject_once"): Json {
  const option = options.find((each) => each.kind === kind && each.id !== "")
  return { outcome: option ? { outcome: "selected", optionId: option.id } : { outcome: "cancelled" } }
}

export const cancelledAnswer: Json = { outcome: { outcome: "cancelled" } }

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0
}

export function listOf(value: Json | undefined): readonly Json[] {
  // Safe: an array of JSON holds JSON.
  return Array.isArray(value) ? (value as readonly Json[]) : []
}
