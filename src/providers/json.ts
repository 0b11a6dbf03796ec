import type { Json, JsonObject } from "../contract/json.ts"
import { isJsonObject } from "../lib/json.ts"
import { malformed } from "./failure.ts"

/** The data of one event of a stream. */
export function parseEvent(data: string, requestId: string | undefined): JsonObject {
  try {
    const event: unknown = JSON.parse(data)
    if (isJsonObject(event)) return event
  } catch {
    // Reported below: the parser's message would quote the stream.
  }
  throw malformed("an event is not JSON", requestId)
}

/** A token count as reported by a server; null: not reported. */
export function count(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null
}

/** The content of a JSON string; undefined if it is not one. */
export function unescaped(raw: string): string | undefined {
  if (!raw.includes("\\") && !raw.includes('"')) return raw
  try {
    const text: unknown = JSON.parse(`"${raw}"`)
    return typeof text === "string" ? text : undefined
  } catch {
    return undefined
  }
}
