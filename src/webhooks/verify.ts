import { LonghaulError } from "../contract/error.ts"
import type { RunResult } from "../contract/result.ts"
import { base64ToBytes } from "../lib/bytes.ts"
import { textOrTexts } from "../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape } from "../lib/schema/shape.ts"
import { isSignedWith, signedBytes } from "./sign.ts"

/** A request as received. */
export interface ReceivedWebhook {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The raw body: text that was parsed and serialised again has another signature. */
  readonly body: string | Uint8Array
  /** Any of them may have signed it. */
  readonly secrets: string | readonly string[]
  /** Maximum clock difference to the sender, in either direction. Default 300. */
  readonly toleranceSeconds?: number
  /** Unix milliseconds. Default: now. */
  readonly now?: number
}

/** The values of `data.reason` in an error. */
export type WebhookRefusal =
  | "header_missing"
  | "timestamp_malformed"
  | "too_old"
  | "too_new"
  | "signature_mismatch"
  | "body_not_raw"

/**
 * Returns the result in a webhook if it was signed with a known secret and is recent. Throws `auth` otherwise. The same
 * event may arrive more than once: deduplicate by `webhook-id`.
 */
export async function verifyWebhook<Payload = RunResult>(received: ReceivedWebhook): Promise<Payload> {
  checkShape<ReceivedWebhook>("verifyWebhook", received, receivedShape)
  const { headers, body, secrets, toleranceSeconds = 300, now = Date.now() } = received
  if (!(toleranceSeconds >= 0)) {
    throw new LonghaulError("config_invalid", `Invalid toleranceSeconds: ${String(toleranceSeconds)}.`, {
      fix: "Use a number of seconds, 0 or more.",
    })
  }
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw refusal("body_not_raw", "Pass its raw body, as text or bytes: this one was parsed.")
  }
  const [id, timestamp, signature] = names.map((name) => headerOf(headers, name))
  if (!id || !timestamp || !signature) throw refusal("header_missing", "A signature header is missing.")
  checkAge(timestamp, toleranceSeconds, now)
  const bytes = signedBytes({ id, timestamp, body })
  const given = signaturesIn(signature)
  const known = typeof secrets === "string" ? [secrets] : secrets
  const matches = await Promise.all(known.map((secret) => isSignedWith(secret, given, bytes)))
  if (!matches.includes(true)) throw refusal("signature_mismatch", "No signature matches a known secret.")
  // A valid signature vouches for the shape of the body.
  return parsed(typeof body === "string" ? body : new TextDecoder().decode(body)) as Payload
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refusal("body_not_raw", "Its signature is valid, but it is not JSON.")
  }
}

const receivedShape: Shape<ReceivedWebhook> = {
  headers: required("object"),
  // A body that was parsed is refused below, with the reason.
  body: "any",
  secrets: required(textOrTexts),
  toleranceSeconds: "number",
  now: "number",
}

const names = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const

function headerOf(headers: ReceivedWebhook["headers"], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === "string" ? first : undefined
}

function checkAge(timestamp: string, toleranceSeconds: number, now: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw refusal("timestamp_malformed", "The timestamp is not a number of seconds.")
  const ageSeconds = Math.floor(now / 1000) - Number(timestamp)
  if (ageSeconds > toleranceSeconds) throw refusal("too_old", "It was sent too long ago.")
  if (ageSeconds < -toleranceSeconds) throw refusal("too_new", "Its timestamp is in the future.")
}

/** Only our version; other versions are for receivers that know them. */
function signaturesIn(header: string): Uint8Array<ArrayBuffer>[] {
  return header.split(" ").flatMap((each) => {
    const [version, text] = each.split(",")
    if (version !== "v1" || text === undefined) return []
    try {
      return [new Uint8Array(base64ToBytes(text))]
    } catch {
      return []
    }
  })
}

function refusal(reason: WebhookRefusal, message: string): LonghaulError {
  return new LonghaulError("auth", `The webhook was rejected. ${message}`, {
    retryable: false,
    fix: "Check that both sides use the same secret and correct clocks, and verify the body as it was received.",
    data: { reason },
  })
}
