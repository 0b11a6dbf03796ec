import http, { type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { RunResult } from "../../src/index.ts"

export interface ReceivedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The received request, decoded. */
  readonly result: RunResult
}

/** A receiver's response to its nth request (from 0): a status, or anything else. */
export type Answer = (
  index: number,
  response: ServerResponse,
  request: IncomingMessage,
) => number | undefined | Promise<undefined>

/** A local receiver and its received requests. */
export async function startReceiver(answer: Answer) {
  const got: ReceivedRequest[] = []
  const server = http.createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    got.push({ path: request.url ?? "", headers, body, result: JSON.parse(body) as RunResult })
    const status = await answer(got.length - 1, response, request)
    if (status !== undefined) response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    got,
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/hook`,
    close() {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
