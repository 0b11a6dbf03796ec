import { LonghaulError } from "../contract/error.ts"
import { base64ToBytes, bytesToBase64, concatBytes } from "../lib/bytes.ts"
import { texts } from "../lib/schema/contract-shapes.ts"
import { checkArgument, checkShape, required } from "../lib/schema/shape.ts"

export interface SignedContent {
  readonly id: string
  /** Unix seconds, as in the header. */
  readonly timestamp: string
  /** Exactly as sent. */
  readonly body: string | Uint8Array
}

/** The value of `webhook-signature`: one signature per secret. */
export async function signWebhook(content: SignedContent, secrets: readonly string[]): Promise<string> {
  checkShape<SignedContent>("signWebhook", content, {
    id: required("text"),
    timestamp: required("text"),
    body: required(["text", "bytes"]),
  })
  checkArgument("secrets", secrets, texts)
  const bytes = signedBytes(content)
  const signatures = await Promise.all(
    secrets.map(async (secret) => {
      const signature = await crypto.subtle.sign("HMAC", await importSecret(secret), bytes)
      return `v1,${bytesToBase64(new Uint8Array(signature))}`
    }),
  )
  return signatures.join(" ")
}

export function signedBytes({ id, timestamp, body }: SignedContent): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const content = typeof body === "string" ? encoder.encode(body) : body
  return new Uint8Array(concatBytes([encoder.encode(`${id}.${timestamp}.`), content]))
}

/** Compared by the platform in constant time. */
export async function isSignedWith(
  secret: string,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await importSecret(secret)
  let matches = false
  for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, bytes)) matches = true
  return matches
}

function importSecret(secret: string) {
  const use = { name: "HMAC", hash: "SHA-256" }
  return crypto.subtle.importKey("raw", secretBytes(secret), use, false, ["sign", "verify"])
}

/** `whsec_` and base64, as in Standard Webhooks, or any other text unchanged. */
export function secretBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith(PREFIX) ? decoded(secret.slice(PREFIX.length)) : new TextEncoder().encode(secret)
  if (bytes.length > 0) return new Uint8Array(bytes)
  throw new LonghaulError("config_invalid", "A webhook secret is empty or unreadable.", {
    fix: 'Use "whsec_" followed by base64, or any other text.',
  })
}

const PREFIX = "whsec_"

function decoded(text: string): Uint8Array {
  try {
    return base64ToBytes(text)
  } catch {
    return new Uint8Array()
  }
}
