import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"

/**
 * A fault of one request. `refused-…`: it never reaches the store; `lost`: it does, and its response is cut off;
 * `silent`: it does, and no response ever comes; `late`: its sender is disconnected first, and it reaches the store
 * later; `half`: its response breaks in the middle; `stale`: a listing as it was when first requested.
 */
export type S3Fault =
  | "refused-500"
  | "refused-503"
  | "refused-409"
  | "lost"
  | "silent"
  | "late"
  | "half"
  | "slow"
  | "stale"

export interface S3Proxy {
  /** Replaces the store's own endpoint. */
  readonly endpoint: string
  /** How often each fault really happened. */
  readonly happened: ReadonlyMap<S3Fault, number>
  /** All pending requests have reached the store. */
  settled(): Promise<void>
  close(): Promise<void>
}

interface Exchange {
  readonly method: string
  readonly path: string
}

/** A proxy before a store with the faults chosen by `decide`; `lateMs` is the delay of late requests. */
export async function startS3Proxy(
  target: string,
  decide: (exchange: Exchange) => S3Fault | undefined,
  lateMs: () => number = () => 60,
): Promise<S3Proxy> {
  const { origin, pathname } = new URL(target)
  const happened = new Map<S3Fault, number>()
  const underWay = new Set<Promise<unknown>>()
  const listings = new Map<string, Answered>()

  const server = createServer((incoming, outgoing) => {
    const work = serve(incoming, outgoing).catch(() => outgoing.destroy())
    underWay.add(work)
    work.finally(() => underWay.delete(work))
  })

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const { method = "GET", url: path = "/" } = incoming
    const fault = decide({ method, path })
    if (fault) happened.set(fault, (happened.get(fault) ?? 0) + 1)
    const refusal = /^refused-(\d+)$/.exec(fault ?? "")?.[1]
    if (refusal !== undefined) {
      outgoing.writeHead(Number(refusal)).end(`<Error><Code>${refusals[refusal]}</Code></Error>`)
      return
    }
    if (fault === "late") {
      outgoing.destroy()
      await sleep(lateMs())
    }
    if (fault === "slow") await sleep(SLOW_MS)
    const answered = await forward(origin, incoming, body)
    const listing = listings.get(path)
    if (path.includes("list-type=2") && listing === undefined) listings.set(path, answered)
    const { status, headers, bytes } = fault === "stale" && listing ? listing : answered
    if (fault === "lost") outgoing.destroy()
    // The sender gives up and closes the connection.
    if (fault === "lost" || fault === "silent" || fault === "late") return
    outgoing.writeHead(status, headers)
    if (fault !== "half") outgoing.end(bytes)
    else outgoing.write(bytes.subarray(0, bytes.length / 2), () => outgoing.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    happened,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Answered {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly bytes: Buffer
}

/** Under the host name that the sender signed. */
function forward(origin: string, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}${url}`, { ...(method && { method }), headers }, (answer) => {
      buffer(answer).then(
        (bytes) => resolve({ status: answer.statusCode ?? 500, headers: answer.headers, bytes }),
        reject,
      )
    })
    sent.on("error", reject)
    sent.end(body)
  })
}

const refusals: Readonly<Record<string, string>> = {
  "500": "InternalError",
  "503": "SlowDown",
  "409": "ConditionalRequestConflict",
}

const SLOW_MS = 40

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
