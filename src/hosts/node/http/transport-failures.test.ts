import { once } from "node:events"
import net, { type Socket } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { listen, stopServers } from "../../../../test/support/proxy-servers.ts"
import { askOver, startRaw, whenClosed } from "../../../../test/support/raw-server.ts"
import { nodeTransport } from "./http-transport.ts"

afterEach(stopServers)

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
const CLOSE = "HTTP/1.1 200 OK\r\n\r\nok"

const cuts: readonly (readonly [string, (socket: Socket, bytes?: string) => unknown])[] = [
  ["closed", (socket, bytes = "") => socket.end(bytes)],
  [
    "reset",
    (socket, bytes = "") =>
      bytes === "" ? socket.resetAndDestroy() : socket.write(bytes, () => socket.resetAndDestroy()),
  ],
]

describe("nodeTransport", () => {
  const ask = askOver(nodeTransport({}, {}))

  test.each(cuts)("a request whose kept connection is %s without a response fails and is sent once", async (_, cut) => {
    const { url, requests } = await startRaw((socket, { index }) => (index === 1 ? cut(socket) : socket.write(OK)))
    expect(await ask(url)).toBe("200 ok")
    await expect(ask(url)).rejects.toMatchObject({ code: "network", retryable: true })
    expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection, body }) => `${connection} ${body}`)).toEqual(["0 asked", "0 asked", "1 asked"])
  })

  test.each([
    ["a part of a head", "HTTP/1.1 2"],
    ["an informational response", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["a part of an answer", OK.slice(0, -1)],
    ["what is no HTTP", "SSH-2.0\r\n\r\n"],
  ])("a request over a kept connection that receives %s fails and is sent once", async (_, bytes) => {
    const { url, requests } = await startRaw((socket, { index }) =>
      index === 1 ? socket.end(bytes) : socket.write(OK),
    )
    await ask(url)
    await expect(ask(url)).rejects.toMatchObject({ code: "network", retryable: true })
    expect(requests.length).toBe(2)
  })

  test.each(cuts)(
    "a new connection that is %s before any response is a failure, and the request is sent once",
    async (_, cut) => {
      const { url, requests } = await startRaw((socket) => cut(socket))
      await expect(ask(url)).rejects.toMatchObject({ code: "network", retryable: true })
      expect(requests.length).toBe(1)
    },
  )

  test.each(
    cuts.flatMap(([how, cut]) => [
      { what: "a body of known length", how, cut, bytes: OK.slice(0, -1), heard: "200 o" },
      {
        what: "a chunk",
        how,
        cut,
        bytes: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nok",
        heard: "200 ok",
      },
      {
        what: "the last chunk",
        how,
        cut,
        bytes: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
        heard: "200 ok",
      },
      { what: "a head", how, cut, bytes: "HTTP/1.1 200 OK\r\nx: y", heard: "" },
    ]),
  )("a response that is $how in $what is a failure", async ({ cut, bytes, heard }) => {
    const { url, requests } = await startRaw((socket) => cut(socket, bytes))
    let told = ""
    const asked = ask(url, { heard: (what) => (told += typeof what === "number" ? `${what} ` : Buffer.from(what)) })
    await expect(asked).rejects.toMatchObject({ code: "network", message: expect.stringContaining(new URL(url).host) })
    expect(heard.startsWith(told)).toBe(true)
    expect(requests.length).toBe(1)
  })

  test("a response without a length is complete if the server closes, and fails if it resets", async () => {
    const { url, connections } = await startRaw((socket, { index }) =>
      index === 0 ? socket.end(CLOSE) : socket.write(CLOSE),
    )
    expect(await ask(url)).toBe("200 ok")
    const asked = ask(url, { heard: (what) => typeof what === "number" || connections[1]?.resetAndDestroy() })
    await expect(asked).rejects.toMatchObject({ code: "network", message: expect.stringContaining("ECONNRESET") })
  })

  const LARGE = Buffer.alloc(20_000_000, "x")
  const REFUSAL = "HTTP/1.1 413 Too Large\r\n"

  test.each([
    ["keeps the connection", (socket: Socket) => socket.write(`${REFUSAL}content-length: 3\r\n\r\nbig`)],
    ["ends it with the body", (socket: Socket) => socket.end(`${REFUSAL}\r\nbig`)],
    ["resets it", (socket: Socket) => socket.write(`${REFUSAL}content-length: 3\r\n\r\nbig`, () => socket.destroy())],
  ])(
    "a server that responds before reading the request, and %s, yields its response or a failure",
    async (_, answer) => {
      const sockets: Socket[] = []
      const server = net.createServer((socket) => {
        sockets.push(socket)
        socket.on("error", () => {})
        socket.once("data", () => answer(socket.pause()))
      })
      const url = `http://127.0.0.1:${await listen(server)}/`
      for (let time = 0; time < 2; time++) {
        const heard = await ask(url, { body: LARGE }).catch(({ code }: { readonly code: string }) => code)
        expect(["413 big", "network"]).toContain(heard)
        await whenClosed(sockets[time]?.resume())
      }
      expect(sockets.length).toBe(2)
    },
  )

  test("an abort before sending sends nothing, over a new or a kept connection", async () => {
    const { url, requests } = await startRaw((socket) => socket.write(OK))
    for (let time = 0; time < 2; time++) {
      await expect(ask(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "network" })
      const controller = new AbortController()
      const asked = ask(url.replace("127.0.0.1", "localhost"), { signal: controller.signal })
      controller.abort()
      await expect(asked).rejects.toMatchObject({ code: "network" })
      expect(requests.length).toBe(time)
      await ask(url)
    }
  })

  test.each([
    ["waiting for the head", ""],
    ["in the middle of a head", "HTTP/1.1 200 OK\r\nx: y"],
    ["in the middle of a body", OK.slice(0, -1)],
    ["in the middle of a chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nok"],
    ["in a body without a length", CLOSE],
  ])("an abort while %s rejects, closes the connection, and the next request works", async (_, bytes) => {
    const controller = new AbortController()
    const { url, requests, connections } = await startRaw((socket, { index }) => {
      if (index % 2 === 0) socket.write(OK)
      else if (bytes.includes("\r\n\r\n")) socket.write(bytes)
      else socket.write(bytes, () => controller.abort())
    })
    await ask(url)
    const asked = ask(url, { signal: controller.signal, heard: () => setImmediate(() => controller.abort()) })
    await expect(asked).rejects.toMatchObject({ code: "network" })
    await whenClosed(connections[0])
    expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 0, 1])
  })

  test("an abort during a body without a length rejects", async () => {
    const { url } = await startRaw((socket) => socket.write(CLOSE))
    const controller = new AbortController()
    const asked = ask(url, {
      signal: controller.signal,
      heard: (what) => typeof what === "number" || controller.abort(),
    })
    await expect(asked).rejects.toMatchObject({ code: "network" })
  })

  test.each(["head", "chunk"])("an exception of the sink in %s fails the request with it", async (place) => {
    const { url, requests, connections } = await startRaw((socket, { index }) =>
      socket.write(index === 1 ? OK.replace("length: 2", "length: 3") : OK),
    )
    await ask(url)
    const thrown = new TypeError("not expected")
    const asked = ask(url, {
      heard(what) {
        if ((typeof what === "number") === (place === "head")) throw thrown
      },
    })
    expect(await asked.catch((error: unknown) => error)).toBe(thrown)
    await whenClosed(connections[0])
    expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 0, 1])
  })

  test("a refused connection names the host and the reason", async () => {
    const server = net.createServer()
    const port = await listen(server)
    await once(server.close(), "close")
    await expect(ask(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      code: "network",
      message: `The connection to 127.0.0.1:${port} failed (ECONNREFUSED).`,
      retryable: true,
    })
  })

  test("an unknown host is a network failure", async () => {
    const failure = { code: "network", message: expect.stringMatching(/to nowhere\.invalid failed \(E[A-Z_]+\)\.$/) }
    await expect(ask("http://nowhere.invalid/")).rejects.toMatchObject(failure)
  })
})
