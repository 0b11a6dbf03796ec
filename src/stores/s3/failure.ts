import { LonghaulError } from "../../contract/error.ts"
import { textOf } from "./xml.ts"

/** What came back. */
export interface Answer {
  readonly status: number
  readonly body: Uint8Array
  header(name: string): string | null
}

/** Nothing came back, or not all of it: what was asked for may have happened. */
export function unanswered(doing: string, cause: unknown): LonghaulError {
  const reason = cause instanceof Error && cause.name === "TimeoutError" ? "no answer in time" : "the connection failed"
  return new LonghaulError("storage", `Could not ${doing}: ${reason}.`, {
    cause,
    fix: "Check the way to the object store, then resume the run.",
  })
}

/** The store said no. Of what it said only the code goes on: its messages repeat keys and signatures. */
export function refused(doing: string, answer: Answer): LonghaulError {
  const code = codeOf(answer)
  const requestId = answer.header("x-amz-request-id") ?? answer.header("cf-ray")
  return new LonghaulError("storage", `Could not ${doing}: the store answered ${answer.status}${code && ` ${code}`}.`, {
    retryable: answer.status >= 500 ? answer.status !== 501 : passing.has(answer.status) || passing.has(code),
    fix: fixOf(code, answer),
    data: { status: answer.status, ...(code && { code }) },
    ...(requestId && { requestId }),
  })
}

/** The store's own word for what is wrong; empty where it has none, as for HEAD. */
export function codeOf({ body }: Pick<Answer, "body">): string {
  const code = textOf(new TextDecoder().decode(body.subarray(0, LONGEST_REFUSAL)), "Code") ?? ""
  return /^\w{1,64}$/.test(code) ? code : ""
}

const LONGEST_REFUSAL = 65_536

/** What may go well the next time: the same name written by two at once, too many requests, a body that came too slowly. */
const passing: ReadonlySet<number | string> = new Set([408, 409, 429, "RequestTimeout", "SlowDown"])

function fixOf(code: string, { status, header }: Answer): string {
  const known = fixes[code]
  if (known !== undefined) return known
  const region = header("x-amz-bucket-region")
  if (region !== null && status !== 403) return `Set region to ${JSON.stringify(region)}.`
  if (status >= 300 && status < 400) return "Set region and endpoint to those of the bucket."
  if (status === 403) return ALLOW
  return status === 401 ? fixes.InvalidAccessKeyId : "Look the code up in the store's manual, then resume the run."
}

const ALLOW =
  "Allow the key to get, put, delete and list in this bucket; without listing, S3 answers 403 for what is not there."

const WRONG_KEY = "Check accessKeyId, secretAccessKey and, for temporary credentials, sessionToken."

const fixes: Readonly<Record<string, string>> & { readonly InvalidAccessKeyId: string } = {
  AccessDenied: ALLOW,
  InvalidAccessKeyId: WRONG_KEY,
  SignatureDoesNotMatch: WRONG_KEY,
  InvalidToken: WRONG_KEY,
  ExpiredToken: "Get new temporary credentials and make the store with them.",
  NoSuchBucket: "Create the bucket, or correct bucket, region and endpoint.",
  PermanentRedirect: "Set region and endpoint to those of the bucket.",
  AuthorizationHeaderMalformed: "Set region to that of the bucket.",
  RequestTimeTooSkewed: "Set this machine's clock: the store refuses requests that are more than 15 minutes off.",
  NotImplemented: "Use a store that knows conditional writes: S3, R2, or a current MinIO.",
  SlowDown: "Wait, then resume the run; use a prefix for each group of runs.",
}
