import type { ErrorCode } from "../../contract/error.ts"

/** The code of a failure for which a vendor gives the status of its model's server. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return "auth"
  if (status === 402) return "billing"
  if (status === 404) return "model_not_found"
  if (status === 413) return "context_overflow"
  if (status === 429) return "rate_limited"
  if (status === 503 || status === 529) return "overloaded"
  return status >= 500 || status === 408 ? "provider_error" : "invalid_request"
}
