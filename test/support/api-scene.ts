import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach } from "vitest"
import type { Environment } from "../../src/contract/env.ts"
import type { ExtensionRun } from "../../src/contract/extension.ts"
import type { Json } from "../../src/contract/json.ts"
import { type ApiOptions, type ApiService, api } from "../../src/extensions/api/index.ts"
import { nodeFetch } from "../../src/hosts/node/index.ts"
import { plainText } from "../../src/lib/content.ts"
import { createDispatcher } from "../../src/tools/kernel/dispatch.ts"
import { createToolContext } from "../../src/tools/kernel/tool-context.ts"

export interface SeenRequest {
  readonly method: string
  /** As it was sent. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Names as they were sent, with repetitions. */
  readonly names: readonly string[]
  readonly body: string
}

type Answer = (request: SeenRequest, response: ServerResponse) => void

const toClose: (() => unknown)[] = []
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

/** A real service that notes its requests. */
export async function serveApi(answer: Answer = (_, response) => void response.end("fine")) {
  const requests: SeenRequest[] = []
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming)
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  toClose.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  // Safe: a listening TCP server has such an address.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, requests }
}

async function read(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const { method = "", url = "", headers, rawHeaders } = incoming
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return { method, url, headers: Object.fromEntries(texts), names, body: Buffer.concat(chunks).toString() }
}

/** The two ways in which requests are sent. */
export const senders: Readonly<Record<"guarded" | "fetch", Environment>> = {
  guarded: { fetch: nodeFetch() },
  fetch: {},
}

export interface OpenOptions {
  readonly env?: Environment
  readonly variables?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** The tools of an extension without a run. */
export async function openApi(
  options: ApiOptions,
  { env = senders.guarded, variables = {}, signal }: OpenOptions = {},
) {
  const warnings: string[] = []
  const run = {
    host: { variable: (name: string) => variables[name] },
    warn: (code: string, message: string) => void warnings.push(`${code}: ${message}`),
  }
  const extension = api(options)
  // Safe: nothing else of a run is used.
  const { tools = [] } = await extension.open(run as unknown as ExtensionRun)
  const dispatcher = createDispatcher(tools)
  const context = createToolContext({ ...(signal && { signal }), callId: "key-1", env })
  const call = async (args: Json, name = "ApiCall") => {
    const { status, output } = await dispatcher.dispatch({ name, args }, context)
    return { status, text: plainText(output, "\n") }
  }
  return { call, tools, warnings, dispatcher, extension }
}

/** One service named `s`. */
export function openOne(service: ApiService, more: Partial<ApiOptions> = {}, options: OpenOptions = {}) {
  return openApi({ services: { s: service }, ...more }, options)
}
