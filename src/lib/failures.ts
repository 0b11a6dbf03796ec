import { LonghaulError } from "../contract/error.ts"

/** A setting or an input that cannot work, and what to do about it. */
export function configInvalid(message: string, fix: string, cause?: unknown): LonghaulError {
  return new LonghaulError("config_invalid", message, { fix, cause })
}

/** The code of a failure as logs name it. */
export function failureCode(error: unknown): string {
  return LonghaulError.is(error) ? error.code : "internal"
}

/** The code that the system gave a failed connection, such as ECONNREFUSED; empty if it gave none. */
export function systemErrorCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return String(Object(cause).code ?? "")
}
