import type { Json, JsonObject } from "../../contract/json.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { isJsonObject } from "../../lib/json.ts"
import { MAX_SECRET_LENGTH } from "../../lib/text/before-cut.ts"
import { truncateUtf8, utf8Length } from "../../lib/truncate.ts"
import { findTokens } from "../redact/token-search.ts"
import { jsonObjectIn, ServiceFailure, type ServiceResponse } from "./exchange.ts"

/** A text for the service, cut at a character, with a note of what is missing. */
interface CappedText {
  readonly text: string
  /** Present if it was cut. */
  readonly cut?: { readonly bytes: number; readonly kept: number }
}

function capped(text: string, maxBytes: number): CappedText {
  const bytes = utf8Length(text)
  if (bytes <= maxBytes) return { text }
  const prefix = outsideToken(text, truncateUtf8(text, { maxBytes }).text.length)
  const kept = utf8Length(prefix)
  return { text: `${prefix}\n[cut: ${kept} of ${bytes} bytes]`, cut: { bytes, kept } }
}

/** The text up to an index, or up to the token that the index is in: half a token is not recognised by those who mask it later. */
function outsideToken(text: string, index: number): string {
  const from = Math.max(0, index - MAX_SECRET_LENGTH)
  const around = findTokens(text, from, Math.min(text.length, index + MAX_SECRET_LENGTH))
  return text.slice(0, around.find(({ at, end }) => at < index && index < end)?.at ?? index)
}

/** A message in which the texts of some fields are capped, with a note about those that were cut. */
export function withCapped(message: Json, names: readonly string[], maxBytes: number): Json {
  if (!isJsonObject(message)) return message
  const texts: Record<string, Json> = {}
  const truncated: Record<string, Json> = {}
  for (const name of names) {
    const whole = message[name]
    if (typeof whole !== "string") continue
    const { text, cut } = capped(whole, maxBytes)
    texts[name] = text
    if (cut) truncated[name] = { ...cut }
  }
  return { ...message, ...texts, ...(Object.keys(truncated).length > 0 && { truncated }) }
}

/** Throws for every answer to an event but 202 with an object or nothing: any web server may answer with 200. */
export function checkAccepted({ status, text }: ServiceResponse): void {
  if (status !== 202) throw new ServiceFailure("answer", `A policy service does not answer with status ${status}.`)
  if (text.trim() !== "") jsonObjectIn(text)
}

/** Throws for every answer that is not exactly a verdict about this call. */
export function callVerdict(answer: JsonObject, digest: string): ServiceVerdict {
  const { decision, toolInput, digest: about } = answer
  if (about !== undefined && about !== digest) throw misunderstood("a verdict about another call")
  if (decision === "deny" || decision === "ask") return { decision, ...explained(answer, decision) }
  if (decision !== "allow") throw misunderstood("an unknown verdict")
  if (toolInput === undefined) return { decision }
  // Safe: parsed JSON.
  if (isJsonObject(toolInput)) return { decision, args: toolInput as JsonObject }
  throw misunderstood("arguments that are not an object")
}

export function outputVerdict(answer: JsonObject): ServiceVerdict {
  const { decision } = answer
  if (decision === "allow") return { decision }
  if (decision === "block") return { decision, ...explained(answer, decision) }
  throw misunderstood("an unknown verdict")
}

function explained({ reason, rule }: JsonObject, decision: keyof typeof reasonless) {
  return {
    reason: typeof reason === "string" && reason !== "" ? reason.slice(0, MAX_REASON_LENGTH) : reasonless[decision],
    ...(typeof rule === "string" && { rule: rule.slice(0, MAX_REASON_LENGTH) }),
  }
}

const reasonless = {
  deny: "The policy service denied the call.",
  ask: "The policy service requires an approval.",
  block: "The policy service blocked the output.",
}

function misunderstood(what: string): ServiceFailure {
  return new ServiceFailure("answer", `The policy service sent ${what}.`)
}

const MAX_REASON_LENGTH = 2000
