import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import type { ErrorReply } from "../shared/json-rpc.ts"
import { codeOfStatus } from "../shared/status-code.ts"
import type { TurnFailure } from "./protocol.ts"

/** The typed error of a failed turn, from Codex's flag. Only the flag `other` needs a look at the message. */
export function failureOf({ message, info, httpStatus }: TurnFailure): LonghaulError {
  const code = byFlag[info] ?? (httpStatus === undefined ? byMessage(info, message) : codeOfStatus(httpStatus))
  const fix = fixes[code]
  const data = { codexErrorInfo: info, ...(httpStatus !== undefined && { httpStatus }) }
  return new LonghaulError(code, message || "Codex reported a failure without a message.", {
    data,
    ...(fix && { fix }),
  })
}

/** The typed error of an error reply. */
export function replyError({ method, code, message }: ErrorReply): LonghaulError {
  if (method === "thread/resume") {
    return new LonghaulError("session_lost", `Codex could not resume the session: ${message}`, {
      fix: "Continue from the journal.",
    })
  }
  return new LonghaulError("invalid_request", `Codex refused ${method}: ${message}`, {
    fix: "Check the options of the backend, and that the version of Codex is supported.",
    data: { method, code },
  })
}

export function notLoggedIn(): LonghaulError {
  return new LonghaulError("auth", "Codex is not logged in.", { fix: LOGIN })
}

const LOGIN = "Run `codex login`, or set OPENAI_API_KEY and pass it on with passEnv."

const byFlag: Readonly<Record<string, ErrorCode>> = {
  contextWindowExceeded: "context_overflow",
  sessionBudgetExceeded: "billing",
  usageLimitExceeded: "billing",
  rateLimitExceeded: "rate_limited",
  flexUnavailable: "overloaded",
  serverOverloaded: "overloaded",
  policyCapacityUnavailable: "overloaded",
  modelNotFound: "model_not_found",
  cyberPolicy: "content_filtered",
  misalignmentPolicyViolation: "content_filtered",
  internalServerError: "provider_error",
  unauthorized: "auth",
  badRequest: "invalid_request",
  sandboxError: "sandbox_unavailable",
  responseStreamDisconnected: "stream_incomplete",
}

const fixes: Partial<Record<ErrorCode, string>> = {
  auth: LOGIN,
  billing: "Check the plan and the credit of the account.",
  model_not_found: "Check the name of the model and the model provider in Codex's settings.",
}

function byMessage(info: string, message: string): ErrorCode {
  if (info !== "other") return info.endsWith("Failed") ? "network" : "unexpected_stop"
  if (message.includes("reason: max_output_tokens")) return "output_limit"
  if (message.includes("reason: content_filter")) return "content_filtered"
  if (message.startsWith("stream disconnected before completion")) return "stream_incomplete"
  if (message.startsWith("Missing environment variable")) return "auth"
  // The body of a rejected request, as its provider sent it.
  return message.startsWith("{") ? "invalid_request" : "unexpected_stop"
}
