import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { onTestFinished } from "vitest"

/** A request as a server gets it. */
export interface Held {
  readonly request: IncomingMessage
  readonly body: string
  /** True once its connection is closed, although it was never answered. */
  isClosed: boolean
}

export interface HangingServer {
  readonly url: string
  readonly host: string
  /** Resolves with the request that is never answered. */
  readonly held: Promise<Held>
  /** True if the client has closed the connection of the held request. */
  hasEnded(): Promise<boolean>
  /** True if it is so once everything that was on its way has been received. Waits for requests of its own, not for a time. */
  hasSeen(isTrue: () => boolean): Promise<boolean>
}

export type Answering = (request: IncomingMessage, body: string, response: ServerResponse) => boolean

/**
 * A server on 127.0.0.1 that never answers. `answers`: requests before that one. `start`: what it writes of its answer before it
 * hangs.
 */
export async function hangingServer(
  answers: Answering = () => false,
  start: (response: ServerResponse) => void = () => {},
): Promise<HangingServer> {
  let hold: (held: Held) => void = () => {}
  const held = new Promise<Held>((resolve) => {
    hold = resolve
  })
  const server = createServer(async (request, response) => {
    if (request.url === PROBE) return void response.end()
    let body = ""
    for await (const piece of request) body += piece
    if (answers(request, body, response)) return
    const asked: Held = { request, body, isClosed: false }
    request.socket.on("close", () => {
      asked.isClosed = true
    })
    start(response)
    hold(asked)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  // Safe: a listening TCP server has such an address.
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  // Whatever the client has sent before is received before the answers to these: far less than any time limit of a request.
  const hasSeen = async (isTrue: () => boolean) => {
    for (let probe = 0; probe < PROBES && !isTrue(); probe++) await fetch(`${url}${PROBE}`)
    return isTrue()
  }
  return {
    url,
    host: `127.0.0.1:${port}`,
    held,
    async hasEnded() {
      const request = await held
      return hasSeen(() => request.isClosed)
    },
    hasSeen,
  }
}

const PROBE = "/has-ended"
const PROBES = 500
