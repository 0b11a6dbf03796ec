import type { Json, JsonObject } from "../../src/contract/json.ts"

/** How the asking server behaves. */
export interface AskingSettings {
  /** A file that gets one line for each request and each effect. */
  readonly ledger?: string
  readonly description?: string
  /** What the server keeps with the client between two requests. */
  readonly state?: string
  readonly tools?: readonly string[]
  readonly port?: number
  /** The address that the tool `open` asks people to open. */
  readonly url?: string
  /** The question of the tool `raw`, as it is. */
  readonly params?: Json
  /** The result of every call, over HTTP, whatever the protocol says. */
  readonly result?: JsonObject
  /** True: connections are cut. */
  readonly isGone?: () => boolean
}

export function serveAsking(settings?: AskingSettings): Promise<{
  readonly url: string
  readonly port: number
  /** The bodies of the requests. */
  readonly seen: readonly string[]
  close(): Promise<void>
}>
