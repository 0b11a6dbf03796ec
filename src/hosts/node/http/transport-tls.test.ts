import { once } from "node:events"
import net, { type Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import tls, { type TLSSocket, type TlsOptions } from "node:tls"
import { afterEach, describe, expect, test } from "vitest"
import { cut } from "../../../../test/support/cut-bytes.ts"
import { certificate, listen, startProxy, stopServers } from "../../../../test/support/proxy-servers.ts"
import { askOver, type RawAnswer, startRaw, whenClosed } from "../../../../test/support/raw-server.ts"
import { inProcess } from "../../../../test/support/transport-process.ts"
import { addressOf } from "./address.ts"
import { nodeTransport } from "./http-transport.ts"

afterEach(stopServers)

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
const LAST = OK.replace("content-length", "connection: close\r\ncontent-length")
const TWICE = "return [await ask(given), await ask(given)]"
const versions = ["TLSv1.2", "TLSv1.3"] as const

describe("nodeTransport", () => {
  const ask = askOver(nodeTransport({}, {}))

  test("TLS requests share one connection, with HTTP/1.1 and the server's name", async () => {
    const { port, connections } = await startSecure((socket) => socket.write(OK))
    expect(await inProcess(TWICE, `https://localhost:${port}/`)).toEqual(["200 ok", "200 ok"])
    expect(connections.map(({ alpnProtocol, servername }) => [alpnProtocol, servername])).toEqual([
      ["http/1.1", "localhost"],
    ])
  })

  test("a certificate is also checked against an IP address", async () => {
    const { port, connections } = await startSecure((socket) => socket.write(OK))
    expect(await inProcess(TWICE, `https://127.0.0.1:${port}/`)).toEqual(["200 ok", "200 ok"])
    expect(connections.map(({ servername }) => servername)).toEqual([false])
  })

  test.each(versions)("the second connection resumes the TLS session of the first: %s", async (maxVersion) => {
    const { port, resumed } = await startSecure((socket) => socket.write(LAST), { maxVersion })
    expect(await inProcess(TWICE, `https://localhost:${port}/`)).toEqual(["200 ok", "200 ok"])
    expect(resumed).toEqual([false, true])
  })

  test.each(versions)("with an untrusted certificate no byte of the request is sent, %s", async (maxVersion) => {
    const { port, heard, whenAllClosed } = await startSecure((socket) => socket.write(OK), { maxVersion })
    for (let time = 0; time < 2; time++) {
      await expect(ask(`https://localhost:${port}/`)).rejects.toMatchObject({
        code: "network",
        message: `The connection to localhost:${port} failed (DEPTH_ZERO_SELF_SIGNED_CERT).`,
      })
    }
    await whenAllClosed(2)
    expect(heard()).toBe(0)
  })

  test.each(versions)("with a certificate for another name no byte of the request is sent, %s", async (maxVersion) => {
    const { port, heard, requests, whenAllClosed } = await startSecure((socket) => socket.write(LAST), { maxVersion })
    const [known, other] = [`https://localhost:${port}/`, `https://0.0.0.0:${port}/`]
    const answers = await inProcess("const all = []; for (const url of given) all.push(await ask(url)); return all", [
      known,
      other,
      other,
      known,
    ])
    const refusal = `network: The connection to 0.0.0.0:${port} failed (ERR_TLS_CERT_ALTNAME_INVALID).`
    expect(answers).toEqual(["200 ok", refusal, refusal, "200 ok"])
    await whenAllClosed(4)
    expect(heard()).toBe(requests.reduce((sum, { head, body }) => sum + head.length + body.length, 0))
    expect(requests.length).toBe(2)
  })

  test("in a tunnel, the certificate must match the target's address, not the proxy", async () => {
    const { port, heard } = await startSecure((socket) => socket.write(OK))
    const proxy = await startProxy()
    const given = {
      url: `https://0.0.0.0:${port}/`,
      variables: { HTTPS_PROXY: proxy.url.replace("127.0.0.1", "localhost") },
    }
    const refusal = `network: The connection to 0.0.0.0:${port} failed (ERR_TLS_CERT_ALTNAME_INVALID).`
    expect(await inProcess("return ask(given.url, given.variables)", given)).toBe(refusal)
    expect(heard()).toBe(0)
  })

  test.each(["http", "https"])("a proxy with a wrong certificate receives no %s target", async (protocol) => {
    const proxy = await startProxy({ secure: true })
    const given = {
      url: `${protocol}://localhost:1/`,
      variables: { ALL_PROXY: proxy.url.replace("127.0.0.1", "0.0.0.0") },
    }
    const answer = await inProcess("return ask(given.url, given.variables)", given)
    expect(answer).toMatch(
      /^network: The connection to the proxy 0\.0\.0\.0:\d+ failed \(ERR_TLS_CERT_ALTNAME_INVALID\)\.$/,
    )
    expect(proxy.seen).toEqual([])
  })

  test("responses in many small records over 50 concurrent connections are read exactly", async () => {
    const { port, connections } = await startSecure(async (socket, { head }) => {
      socket.setNoDelay(true)
      const number = Number(/^POST \/(\d+)/.exec(head)?.[1])
      for (const piece of cut(Buffer.from(chunked(pattern(number))), [1 + (number % 7), 90, 3, 1])) {
        socket.write(piece)
        if (piece.length < 3) await turn()
      }
    })
    const code = `
    const round = () => Promise.all(Array.from({ length: 50 }, (_, number) => ask(given + number)))
    return [await round(), await round()]`
    const expected = Array.from({ length: 50 }, (_, number) => `200 ${pattern(number)}`)
    expect(await inProcess(code, `https://localhost:${port}/`)).toEqual([expected, expected])
    expect(connections.length).toBe(50)
  })

  test.each([
    ["is complete where the server says so", "HTTP/1.1 200 OK\r\n\r\nok", "200 ok"],
    ["has failed where it is cut in a body of known length", OK.slice(0, -1), expect.stringMatching(/^network: /)],
    ["has failed where it is cut in a chunk", chunked("ok").slice(0, -9), expect.stringMatching(/^network: /)],
  ])("a TLS response that ends with the connection %s", async (_, bytes, expected) => {
    const { port } = await startSecure((socket) => socket.end(bytes))
    expect(await inProcess("return ask(given)", `https://localhost:${port}/`)).toEqual(expected)
  })

  test("an abort cancels an unfinished TLS handshake", async () => {
    const sockets: Socket[] = []
    const silent = net.createServer((socket) => sockets.push(socket.resume()))
    const controller = new AbortController()
    const asked = ask(`https://127.0.0.1:${await listen(silent)}/`, { signal: controller.signal })
    await once(silent, "connection")
    controller.abort()
    await expect(asked).rejects.toMatchObject({ code: "network" })
    await whenClosed(sockets[0])
  })
})

test.each([
  ["http://[::1]:8080/", { host: "::1", port: 8080 }],
  ["http://localhost/", { host: "localhost", port: 80 }],
  ["https://api.example/v1", { host: "api.example", port: 443 }],
])("the address of %s is %j", (url, address) => {
  expect(addressOf(new URL(url))).toEqual(address)
})

/** With every decrypted byte counted. */
async function startSecure(answer: RawAnswer, options: TlsOptions = {}) {
  const server = tls.createServer({ ...certificate, ALPNProtocols: ["http/1.1", "h2"], ...options })
  const plain: Socket[] = []
  const resumed: boolean[] = []
  let heard = 0
  server.on("connection", (socket: Socket) => plain.push(socket))
  server.on("tlsClientError", () => {})
  server.on("secureConnection", (socket: TLSSocket) => {
    resumed.push(socket.isSessionReused())
    socket.on("data", (bytes: Buffer) => {
      heard += bytes.length
    })
  })
  const raw = await startRaw(answer, { server, event: "secureConnection" })
  return {
    ...raw,
    connections: raw.connections as TLSSocket[],
    resumed,
    heard: () => heard,
    async whenAllClosed(count: number) {
      while (plain.length < count) await once(server, "connection")
      await Promise.all(plain.map(whenClosed))
    },
  }
}

function pattern(number: number): string {
  return `${number},`.repeat(1000 + number)
}

function chunked(body: string): string {
  const frames = body.match(/.{1,37}/g)?.map((data) => `${data.length.toString(16)}\r\n${data}\r\n`) ?? []
  return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${frames.join("")}0\r\n\r\n`
}
