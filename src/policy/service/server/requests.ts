import type { JsonObject } from "../../../contract/json.ts"
import { isJsonObject } from "../../../lib/json.ts"

export type Route = "pre-tool" | "post-tool" | "direct-mcp-source" | "events"

/** A request that is refused: its message says why. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest"
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The known fields of any message, checked. */
export interface CallMessage {
  readonly sessionId: string
  readonly requestId: string
  readonly client: string
  readonly at: string
  readonly clientVersion?: string
  readonly generationId?: string
  readonly agent?: string
  readonly backend?: string
  readonly workspace?: string
  readonly cwd?: string
  readonly toolName?: string
  readonly toolType?: string
  readonly toolUrl?: string
  readonly toolUseId?: string
  readonly digest?: string
  readonly url?: string
  readonly outcome?: string
  readonly event?: string
  readonly model?: string
  readonly toolOutput?: string
  readonly stdout?: string
  readonly stderr?: string
  readonly toolInput?: JsonObject
}

const required: Readonly<Record<Route, readonly (keyof CallMessage)[]>> = {
  "pre-tool": ["toolName", "toolUseId", "digest"],
  "post-tool": ["toolName", "toolUseId", "digest", "outcome"],
  "direct-mcp-source": ["toolName", "url"],
  events: ["event"],
}

const texts: readonly Exclude<keyof CallMessage, "toolInput">[] = [
  "sessionId",
  "requestId",
  "client",
  "at",
  "clientVersion",
  "generationId",
  "agent",
  "backend",
  "workspace",
  "cwd",
  "toolName",
  "toolType",
  "toolUrl",
  "toolUseId",
  "digest",
  "url",
  "outcome",
  "event",
  "model",
  "toolOutput",
  "stdout",
  "stderr",
]

/** Throws InvalidRequest for a message that does not have the form of the protocol. */
export function messageIn(body: string, route: Route): CallMessage {
  const given = parsed(body)
  if (given.version !== 1) throw new InvalidRequest(400, "version must be 1.")
  const message: Record<string, unknown> = {}
  for (const name of texts) {
    const value = given[name]
    if (value === undefined) continue
    if (typeof value !== "string") throw new InvalidRequest(400, `${name} must be a text.`)
    message[name] = value
  }
  if (route === "pre-tool" || route === "post-tool") {
    if (!isJsonObject(given.toolInput)) throw new InvalidRequest(400, "toolInput must be an object.")
    message.toolInput = given.toolInput
  }
  const missing = ["sessionId", "requestId", "client", "at", ...required[route]].find((name) => !message[name])
  if (missing !== undefined) throw new InvalidRequest(400, `${missing} is missing.`)
  // Safe: every field was checked above.
  return message as unknown as CallMessage
}

/** Reads at most 4 MB. */
export async function bodyOf(request: Request): Promise<string> {
  const reader = request.body?.getReader()
  if (reader === undefined) return ""
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > MAX_REQUEST_BYTES) {
      await reader.cancel().catch(() => {})
      throw new InvalidRequest(413, "The request is too long.")
    }
    text += decoder.decode(value, { stream: true })
  }
}

function parsed(body: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body)
    if (isJsonObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new InvalidRequest(400, "The body is not a JSON object.")
}

const MAX_REQUEST_BYTES = 4 * 1024 * 1024
