import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import { textOrEmpty } from "../../lib/json.ts"
import type { ErrorReply } from "../shared/json-rpc.ts"
import { codeOfStatus } from "../shared/status-code.ts"
import type { AcpAgent } from "./agents.ts"
import { objectOf } from "./protocol.ts"

/** The typed error of an error reply. The code or the name of the error decides; only then its text is read. */
export function replyError(agent: AcpAgent, { method, code, message, data }: ErrorReply): LonghaulError {
  const { details, errorName } = objectOf(data)
  const said = textOrEmpty(details) || message
  if (isReopening(method) && code !== AUTH_REQUIRED) {
    return new LonghaulError("session_lost", `${agent.title} could not open the session again: ${said}`, {
      fix: "Continue from the journal.",
    })
  }
  const found = errorCode(code, textOrEmpty(errorName), said)
  if (found !== undefined) return failure(agent, found, said)
  if (method === "session/prompt") return failure(agent, "provider_error", said)
  return new LonghaulError("backend_protocol", `${agent.title} refused ${method}: ${said}`, {
    fix: `Check the options of the backend, and that the version of ${agent.title} is supported.`,
    data: { method, code },
  })
}

/**
 * The failure that an agent reported as if it were the model's answer. Undefined: it is an answer. `hasUsage`: the model has
 * answered something.
 */
export function toldFailure(agent: AcpAgent, lastDelta: string, hasUsage: boolean): LonghaulError | undefined {
  if (agent.tellsErrors === undefined) return undefined
  const isCertain = /^Error: (Failed to get response from the AI model|Authentication failed with provider)/
  if (!(isCertain.test(lastDelta) || (!hasUsage && lastDelta.startsWith("Error: ")))) return undefined
  const said = lastDelta.slice("Error: ".length)
  return failure(agent, byText(said) ?? "provider_error", said)
}

/** A note of the agent about itself, in the place of the model's words. */
export function isNote(agent: AcpAgent, delta: string): boolean {
  return agent.tellsErrors === true && notes.test(delta)
}

function failure({ title, login }: AcpAgent, code: ErrorCode, said: string): LonghaulError {
  const fix = code === "auth" ? login : fixes[code]
  return new LonghaulError(code, `${title}: ${said || "it failed without a message."}`, { ...(fix && { fix }) })
}

function isReopening(method: string): boolean {
  return method === "session/load" || method === "session/resume"
}

function errorCode(code: number, errorName: string, said: string): ErrorCode | undefined {
  if (code === AUTH_REQUIRED) return "auth"
  // Some agents reply with the status of their model's server; others only name the error.
  if (code === 500 && /\bterminated\b|socket|network|fetch failed/i.test(said)) return "stream_incomplete"
  if (code >= 400 && code < 600) return codeOfStatus(code)
  return byName[errorName] ?? (errorName === "APIError" ? byText(said) : undefined)
}

function byText(said: string): ErrorCode | undefined {
  const status = /\b(?:HTTP |error: )?([45]\d\d)\b/.exec(said)?.[1]
  if (status !== undefined) return codeOfStatus(Number(status))
  if (/api key|authenticat|unauthori[sz]ed|credential/i.test(said)) return "auth"
  if (/rate limit|quota/i.test(said)) return "rate_limited"
  return /ECONN|ENOTFOUND|connection|socket|network/i.test(said) ? "network" : undefined
}

const byName: Readonly<Record<string, ErrorCode>> = {
  ProviderAuthError: "auth",
  ProviderModelNotFoundError: "model_not_found",
  ProviderInitError: "config_invalid",
  MessageOutputLengthError: "output_limit",
  ContextOverflowError: "context_overflow",
}

const fixes: Partial<Record<ErrorCode, string>> = {
  billing: "Check the plan and the credit of the account.",
  model_not_found: "Name a model that the account can use.",
  rate_limited: "Resume the run later.",
}

const notes =
  /^Info: (Request failed due to a transient API error\. Retrying\.\.\.|Response was interrupted due to a server error\. Retrying\.\.\.|Operation cancelled by user)$/

/** Defined by the protocol. */
const AUTH_REQUIRED = -32000
