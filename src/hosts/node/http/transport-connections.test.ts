import net, { type Socket } from "node:net"
import tls from "node:tls"
import { afterEach, describe, expect, test } from "vitest"
import { certificate, listen, stopServers } from "../../../../test/support/proxy-servers.ts"
import { askOver, startRaw, whenClosed } from "../../../../test/support/raw-server.ts"
import { selfSigned } from "../../../../test/support/self-signed.ts"
import { inProcess } from "../../../../test/support/transport-process.ts"
import { until } from "../../../../test/support/watchdog.ts"
import { keepAliveAgent } from "./http-agent.ts"
import { nodeTransport } from "./http-transport.ts"

afterEach(stopServers)

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
const SURPLUS = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"

describe("nodeTransport", () => {
  test("bytes after a response, in the same read but another TLS record, never become the next response", async () => {
    const server = tls.createServer(certificate)
    const { port, requests } = await startRaw(
      (socket) => {
        socket.write(OK)
        socket.write(SURPLUS)
      },
      { server, event: "secureConnection" },
    )
    const ask = askOver(nodeTransport({ ca: certificate.cert }, {}))
    const url = `https://localhost:${await listen(relayInOnePiece(port))}/`
    for (let time = 0; time < 3; time++) expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 1, 2])
  })

  test("unexpected bytes on an idle connection close it", async () => {
    const { url, connections } = await startRaw((socket) => socket.write(OK))
    const ask = askOver(nodeTransport({}, {}))
    await ask(url)
    connections[0]?.write(SURPLUS)
    await whenClosed(connections[0])
    expect(await ask(url)).toBe("200 ok")
  })

  test("requests with different keys never share a connection; requests with the same key do", async () => {
    const { url, requests } = await startRaw((socket) => socket.write(OK))
    const ask = askOver(nodeTransport({}, {}))
    for (const key of ["a", "b", "a", "b"]) await ask(url, { headers: { "x-api-key": key } })
    expect(requests.map(({ connection }) => connection)).toEqual([0, 1, 0, 1])
  })

  test("an unfinished TLS handshake fails after the connect timeout", async () => {
    const silent = net.createServer((socket) => socket.on("error", () => {}).resume())
    const ask = askOver(nodeTransport({ connectTimeoutMs: 50 }, {}))
    const url = `https://127.0.0.1:${await listen(silent)}/`
    await expect(ask(url)).rejects.toMatchObject({
      code: "network",
      retryable: true,
      message: expect.stringMatching(/ETIMEDOUT/),
    })
  })

  test("a proxy that never opens its tunnel fails after the connect timeout", async () => {
    const silent = net.createServer((socket) => socket.on("error", () => {}).resume())
    const variables = { https_proxy: `http://127.0.0.1:${await listen(silent)}` }
    const ask = askOver(nodeTransport({ connectTimeoutMs: 50 }, variables))
    await expect(ask("https://api.example/")).rejects.toMatchObject({
      code: "network",
      message: expect.stringMatching(/ETIMEDOUT/),
    })
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("a connect timeout of %d is config_invalid", (timeoutMs) => {
    expect(() => nodeTransport({ connectTimeoutMs: timeoutMs }, {})).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    )
  })

  test("an active connection outlives the connect timeout", async () => {
    const { url } = await startRaw((socket) => setTimeout(() => socket.write(OK), 60))
    const ask = askOver(nodeTransport({ connectTimeoutMs: 40 }, {}))
    expect(await ask(url)).toBe("200 ok")
  })

  test("a socket that fails in the tick in which it connects fails the request, not the process", async () => {
    const { url } = await startRaw((socket) => socket.write(OK))
    const code = `
      const { subscribe } = await import("node:diagnostics_channel")
      const cut = Object.assign(new Error("cut"), { code: "ECUT" })
      subscribe("net.client.socket", ({ socket }) => socket.once("connect", () => socket.destroy(cut)))
      return ask(given)`
    expect(await inProcess(code, url)).toMatch(/^network: .* \(ECUT\)\.$/)
  })

  test("a server that asks for a client certificate gets cert and key", async () => {
    const client = selfSigned()
    const server = tls.createServer({ ...certificate, ca: client.cert, requestCert: true, rejectUnauthorized: true })
    server.on("tlsClientError", () => {})
    const { port } = await startRaw((socket) => socket.write(OK), { server, event: "secureConnection" })
    const url = `https://localhost:${port}/`
    await expect(askOver(nodeTransport({ ca: certificate.cert }, {}))(url)).rejects.toMatchObject({ code: "network" })
    expect(await askOver(nodeTransport({ ca: certificate.cert, ...client }, {}))(url)).toBe("200 ok")
  })
})

/** A transport with limits for connections at rest, and the number of its pools. */
function limited(idleMs: number) {
  const agent = keepAliveAgent(false, {}, { idleMs, mostIdle: 3 })
  const pools = () => Object.keys(agent.sockets).length + Object.keys(agent.freeSockets).length
  return { transport: nodeTransport({ agent }, {}), pools }
}

describe("connections at rest of nodeTransport", () => {
  test("idle connections are closed after the idle time, and their pools are removed", async () => {
    const { url, connections } = await startRaw((socket) => socket.write(OK))
    const { transport, pools } = limited(50)
    const ask = askOver(transport)
    await Promise.all(["a", "b", "c"].map((key) => ask(url, { headers: { "x-api-key": key } })))
    expect(pools()).toBe(3)
    await Promise.all(connections.map(whenClosed))
    await until(() => pools() === 0)
  })

  test("a response that takes longer than the idle time is not cut", async () => {
    const { url } = await startRaw((socket) => setTimeout(() => socket.write(OK), 120))
    expect(await askOver(limited(30).transport)(url)).toBe("200 ok")
  })

  test("after a burst, no more connections are kept than the limit allows", async () => {
    const held: Socket[] = []
    const { url, requests } = await startRaw((socket) => {
      if (held.push(socket) % 10 === 0) for (const each of held.splice(0)) each.write(OK)
    })
    const ask = askOver(limited(60_000).transport)
    for (let burst = 0; burst < 2; burst++) await Promise.all(Array.from({ length: 10 }, () => ask(url)))
    const first = new Set(requests.slice(0, 10).map(({ connection }) => connection))
    const reused = requests.slice(10).filter(({ connection }) => first.has(connection))
    expect(reused.length).toBe(3)
  })
})

/** Forwards bytes; those of the server together, after a pause, so that one read receives them. */
function relayInOnePiece(port: number): net.Server {
  return net.createServer((client) => {
    const upstream = net.connect(port, "127.0.0.1")
    let waiting: Buffer[] = []
    const flush = () => {
      client.write(Buffer.concat(waiting))
      waiting = []
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    upstream.on("data", (bytes) => {
      waiting.push(bytes)
      clearTimeout(timer)
      timer = setTimeout(flush, 50)
    })
    client.on("data", (bytes) => upstream.write(bytes))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => {})
      one.on("close", () => other.destroy())
    }
  })
}
