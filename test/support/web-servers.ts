import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { FetchOptions } from "../../src/contract/env.ts"
import { ToolError, type ToolErrorCode } from "../../src/contract/tool.ts"
import { type NodeFetchOptions, nodeFetch } from "../../src/hosts/node/http/guarded-fetch.ts"
import { listen } from "./proxy-servers.ts"

export interface SeenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** A local web server until `stopServers`, and its received requests. */
export async function startWeb(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: SeenRequest[] = []
  let connections = 0
  const server = http.createServer((request, response) => {
    seen.push({ path: `${request.method} ${request.url}`, headers: request.headers })
    answer(request, response)
  })
  server.on("connection", () => connections++)
  const port = await listen(server)
  return { port, url: `http://127.0.0.1:${port}`, seen, connections: () => connections }
}

export const fetchOptions: FetchOptions = {
  signal: new AbortController().signal,
  maxBytes: 100_000,
  timeoutMs: 10_000,
}

/** Why a URL could not be fetched; rejects if it could. */
export async function failureOf(
  url: string,
  settings: NodeFetchOptions,
  changed: Partial<FetchOptions> = {},
): Promise<{ readonly code: ToolErrorCode; readonly message: string }> {
  const error = await nodeFetch(settings)
    .get(url, { ...fetchOptions, ...changed })
    .then(
      () => new Error("it was fetched"),
      (thrown: unknown) => thrown,
    )
  if (!(error instanceof ToolError)) throw error
  return { code: error.code, message: error.message }
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
