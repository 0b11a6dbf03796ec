import type { Json, JsonObject } from "../../contract/json.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { isJsonObject } from "../../lib/json.ts"
import { truncateUtf8, utf8Length } from "../../lib/truncate.ts"
import { ServiceFailure } from "./exchange.ts"

/** A text for the service, cut at a character, with a note of what is missing. */
interface CappedText {
  readonly text: string
  /** Present if it was cut. */
  readonly cut?: { readonly bytes: number; readonly kept: number }
}

function capped(text: string, maxBytes: number): CappedText {
  const bytes = utf8Length(text)
  if (bytes <= maxBytes) return { text }
  const { text: prefix } = truncateUtf8(text, { maxBytes })
  const kept = utf8Length(prefix)
  return { text: `${prefix}\n[cut: ${kept} of ${bytes} bytes]`, cut: { bytes, kept } }
}

/** The fields of one message whose texts are capped, and the note about those that were cut. */
export function cappedFields(fields: Readonly<Record<string, string | undefined>>, maxBytes: number): JsonObject {
  const message: Record<string, Json> = {}
  const truncated: Record<string, Json> = {}
  for (const [name, text] of Object.entries(fields)) {
    if (text === undefined) continue
    const { text: shown, cut } = capped(text, maxBytes)
    message[name] = shown
    if (cut) truncated[name] = { ...cut }
  }
  return Object.keys(truncated).length > 0 ? { ...message, truncated } : message
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
    reason: typeof reason === "string" && reason !== "" ? reason.slice(0, LONGEST_REASON) : reasonless[decision],
    ...(typeof rule === "string" && { rule: rule.slice(0, LONGEST_REASON) }),
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

const LONGEST_REASON = 2000
