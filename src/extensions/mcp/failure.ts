import { LonghaulError } from "../../contract/error.ts"
import { type Effect, ToolError } from "../../contract/tool.ts"
import { systemErrorCode } from "../../lib/failures.ts"

/** Why a call failed, for the model. If its answer may have been lost, the outcome of a call with an effect is unknown. */
export async function callFailure(
  connection: { readonly name: string; masked(text: string): string },
  effect: Effect,
  error: unknown,
): Promise<ToolError> {
  const { code, message, isHeard } = await reasonOf(error)
  const text = connection.masked(`The MCP server ${connection.name} ${message}`)
  if (!isHeard || effect === "none") return new ToolError(code, text, { cause: error })
  const doubt = `${text} The call may or may not have taken effect: check before you try again.`
  return new ToolError("outcome_unknown", doubt, { cause: error })
}

interface Reason {
  readonly code: "io" | "timeout" | "denied" | "aborted" | "invalid_input"
  readonly message: string
  /** The server may have acted on the call. */
  readonly isHeard: boolean
}

async function reasonOf(error: unknown): Promise<Reason> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = await import(
    "@modelcontextprotocol/client"
  )
  if (LonghaulError.is(error)) return { code: "io", message: `could not be started: ${error.message}`, isHeard: false }
  if (error instanceof ProtocolError) return { code: "io", message: `refused: ${error.message}`, isHeard: false }
  if (error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.status === 401)) {
    return { code: "denied", message: "needs a login, or refused the one that was sent.", isHeard: false }
  }
  if (error instanceof SdkHttpError) {
    const isRefusal = error.status >= 400 && error.status < 500
    return { code: "io", message: `answered with the HTTP status ${error.status}.`, isHeard: !isRefusal }
  }
  if (error instanceof SdkError) {
    switch (error.code) {
      case SdkErrorCode.RequestTimeout:
        return { code: "timeout", message: "did not answer in time.", isHeard: true }
      case SdkErrorCode.NotConnected:
        return { code: "io", message: "is not connected.", isHeard: false }
      case SdkErrorCode.ConnectionClosed:
        return { code: "io", message: "ended or closed the connection before it answered.", isHeard: true }
      case SdkErrorCode.InvalidResult:
        return { code: "io", message: "sent an answer that does not match the protocol.", isHeard: true }
      default:
        return { code: "io", message: `failed: ${error.message}`, isHeard: true }
    }
  }
  const isUnreachable = neverSent.has(systemErrorCode(error))
  return { code: "io", message: isUnreachable ? "cannot be reached." : "cut the connection.", isHeard: !isUnreachable }
}

/** Errors before anything was sent. */
const neverSent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])
