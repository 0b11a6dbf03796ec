import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { SceneSettings } from "./answers.mjs"

export interface SceneMessage {
  readonly id?: number | string
  readonly method: string
  readonly params: {
    readonly requestId?: number | string
    readonly name?: string
    readonly _meta?: { readonly progressToken?: number | string }
    readonly clientInfo: object
    readonly capabilities: { readonly sampling?: object; readonly elicitation?: object; readonly roots?: object }
  }
}

export interface HttpSceneSettings extends SceneSettings {
  readonly stateless?: boolean
  /** The status with which a request is refused. */
  readonly refuse?: (request: IncomingMessage, message: SceneMessage | undefined) => number
  /** Answers a request instead of the server. */
  readonly guard?: (
    request: IncomingMessage,
  ) => Promise<
    { readonly status: number; readonly headers: Record<string, string>; readonly body?: string } | undefined
  >
  /** True: the connection is cut instead of an answer. */
  readonly cut?: (message: SceneMessage) => boolean
  /** Answers a request of an open session, or never, instead of the server. True: it does. */
  readonly respond?: (message: SceneMessage, request: IncomingMessage, response: ServerResponse) => boolean
}

export function serveScene(settings?: HttpSceneSettings): Promise<{
  readonly url: string
  readonly requests: readonly {
    readonly method: string
    readonly headers: IncomingHttpHeaders
    readonly message?: SceneMessage
  }[]
  forget(): void
  close(): Promise<void>
}>
