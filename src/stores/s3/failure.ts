import { LonghaulError } from "../../contract/error.ts"
import { elementText } from "./xml.ts"

/** A response of the store. */
export interface S3Response {
  readonly status: number
  readonly body: Uint8Array
  header(name: string): string | null
}

/** The response is missing or incomplete: the request may have taken effect. */
export function unanswered(doing: string, cause: unknown): LonghaulError {
  const reason =
    cause instanceof Error && cause.name === "TimeoutError" ? "no response in time" : "the connection failed"
  return new LonghaulError("storage", `Could not ${doing}: ${reason}.`, {
    cause,
    fix: "Check the connection to the object store, then resume the run.",
  })
}

/** The store rejected the request. Only the error code is reported, because its messages repeat keys and signatures. */
export function refused(doing: string, answer: S3Response): LonghaulError {
  const code = errorCode(answer)
  const requestId = answer.header("x-amz-request-id") ?? answer.header("cf-ray")
  return new LonghaulError("storage", `Could not ${doing}: the store answered ${answer.status}${code && ` ${code}`}.`, {
    retryable: answer.status >= 500 ? answer.status !== 501 : passing.has(answer.status) || passing.has(code),
    fix: fixOf(code, answer),
    data: { status: answer.status, ...(code && { code }) },
    ...(requestId && { requestId }),
  })
}

/** The store's error code; empty if there is none, as for HEAD. */
export function errorCode({ body }: Pick<S3Response, "body">): string {
  const code = elementText(new TextDecoder().decode(body.subarray(0, MAX_REFUSAL_LENGTH)), "Code") ?? ""
  return /^\w{1,64}$/.test(code) ? code : ""
}

const MAX_REFUSAL_LENGTH = 65_536

/** Retryable errors: concurrent writes of one name, too many requests, a body that arrived too slowly. */
const passing: ReadonlySet<number | string> = new Set([408, 409, 429, "RequestTimeout", "SlowDown"])

function fixOf(code: string, { status, header }: S3Response): string {
  const known = fixes[code]
  if (known !== undefined) return known
  const region = header("x-amz-bucket-region")
  if (region !== null && status !== 403) return `Set region to ${JSON.stringify(region)}.`
  if (status >= 300 && status < 400) return "Set region and endpoint to those of the bucket."
  if (status === 403) return ALLOW
  return status === 401 ? fixes.InvalidAccessKeyId : "Look up the code in the store's manual, then resume the run."
}

const ALLOW =
  "Allow the key to get, put, delete and list in this bucket; without listing, S3 returns 403 for missing objects."

const WRONG_KEY = "Check accessKeyId, secretAccessKey and, for temporary credentials, sessionToken."

const fixes: Readonly<Record<string, string>> & { readonly InvalidAccessKeyId: string } = {
  AccessDenied: ALLOW,
  InvalidAccessKeyId: WRONG_KEY,
  SignatureDoesNotMatch: WRONG_KEY,
  InvalidToken: WRONG_KEY,
  ExpiredToken: "Get new temporary credentials and create the store with them.",
  NoSuchBucket: "Create the bucket, or correct bucket, region and endpoint.",
  PermanentRedirect: "Set region and endpoint to those of the bucket.",
  AuthorizationHeaderMalformed: "Set region to that of the bucket.",
  RequestTimeTooSkewed: "Set this machine's clock: the store rejects requests that are more than 15 minutes off.",
  NotImplemented: "Use a store that supports conditional writes: S3, R2, or a current MinIO.",
  SlowDown: "Wait, then resume the run; use a prefix for each group of runs.",
}
