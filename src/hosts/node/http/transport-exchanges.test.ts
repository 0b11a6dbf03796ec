import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import type { Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { afterEach, describe, expect, test } from "vitest"
import { cut } from "../../../../test/support/cut-bytes.ts"
import { stopServers } from "../../../../test/support/proxy-servers.ts"
import { askOver, startRaw, whenClosed } from "../../../../test/support/raw-server.ts"
import { inProcess } from "../../../../test/support/transport-process.ts"
import { nodeTransport } from "./http-transport.ts"

afterEach(stopServers)

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

describe("nodeTransport", () => {
  const ask = askOver(nodeTransport({}, {}))

  test("a connection is kept and reused for the next request", async () => {
    const { url, requests } = await startRaw((socket) => socket.write(OK))
    for (let time = 0; time < 5; time++) expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 0, 0, 0, 0])
  })

  test("the most recently used idle connection is reused first", async () => {
    const held = new Map<string, Socket>()
    const { url, connections } = await startRaw((socket, { body }) => held.set(String(body), socket))
    const askAll = (names: readonly string[]) =>
      new Map(names.map((name) => [name, ask(url, { body: Buffer.from(name) })]))
    const first = askAll(["a", "b", "c"])
    for (const name of ["b", "c", "a"]) {
      await untilAll(held, 3)
      held.get(name)?.write(OK)
      await first.get(name)
    }
    const order = ["a", "c", "b"].map((name) => held.get(name))
    const second = askAll(["1st", "2nd", "3rd"])
    await untilAll(held, 6)
    expect(["1st", "2nd", "3rd"].map((name) => held.get(name) === order.shift())).toEqual([true, true, true])
    for (const socket of connections) socket.write(OK)
    await Promise.all(second.values())
    expect(connections.length).toBe(3)
  })

  test.each([
    ["timeout=1", 2],
    ["timeout=0", 2],
    ["timeout=600", 1],
    ["timeout=600, max=1000", 1],
  ])("with the server's keep-alive: %s, two requests use %i connections", async (hint, count) => {
    const answer = OK.replace("content-length", `keep-alive: ${hint}\r\ncontent-length`)
    const { url, connections } = await startRaw((socket) => socket.write(answer))
    await ask(url)
    await ask(url)
    if (count === 2) await whenClosed(connections[0])
    expect(connections.length).toBe(count)
  })

  test("a connection closed by the server while idle is not reused", async () => {
    const { url, requests, connections } = await startRaw((socket) => socket.write(OK))
    await ask(url)
    await whenClosed(connections[0]?.end())
    expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 1])
  })

  test.each([
    ["response", OK],
    ["empty line", "\r\n"],
  ])("an unexpected %s closes an idle connection", async (_, bytes) => {
    const { url, requests, connections } = await startRaw((socket) => socket.write(OK))
    await ask(url)
    connections[0]?.write(bytes)
    await whenClosed(connections[0])
    expect(await ask(url)).toBe("200 ok")
    expect(requests.map(({ connection }) => connection)).toEqual([0, 1])
  })

  test.each([
    ["it said that it would close", OK.replace("content-length", "connection: close\r\ncontent-length")],
    ["more than the answer came", `${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
  ])("a connection is closed after its response if %s", async (_, answer) => {
    const { url, requests, connections } = await startRaw((socket) => socket.write(answer))
    for (let time = 0; time < 2; time++) {
      expect(await ask(url)).toBe("200 ok")
      await whenClosed(connections[time])
    }
    expect(requests.map(({ connection }) => connection)).toEqual([0, 1])
  })

  test("200 concurrent requests in any chunking receive only their own bytes", async () => {
    const { url, requests } = await startRaw(async (socket, { body }) => {
      const random = randomOf(body.readUInt32BE(1))
      for (const piece of cut(
        chunked(pattern(body), random),
        [1, 9000, 70, 3].map((most) => 1 + random(most)),
      )) {
        socket.write(piece)
        if (random(4) === 0) await turn()
      }
    })
    const askFor = async (number: number) => {
      const body = Buffer.alloc(2000 + number * 7, number)
      body.writeUInt32BE(number, 1)
      const expected = pattern(body)
      let at = 0
      let wrong = 0
      await ask(url, {
        body,
        heard(what) {
          if (typeof what === "number") return
          if (!expected.subarray(at, at + what.length).equals(what)) wrong++
          at += what.length
        },
      })
      return wrong === 0 && at === expected.length
    }
    for (let round = 0; round < 2; round++) {
      const heard = await Promise.all(Array.from({ length: 200 }, (_, number) => askFor(number + 1)))
      expect(heard.filter((isRight) => !isRight)).toEqual([])
    }
    expect(requests.length).toBe(400)
    const bodies = requests.map(
      ({ body }) => body.readUInt32BE(1) === body.at(-1) && body.length === 2000 + (body.at(-1) ?? 0) * 7,
    )
    expect(bodies.every(Boolean)).toBe(true)
  })

  test("50 MB in large chunks arrive byte for byte", async () => {
    const sent = createHash("sha256")
    const heard = createHash("sha256")
    const { url } = await startRaw(async (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
      for (let part = 0; part < 50; part++) {
        const data = randomBytes(1_000_000 + part)
        sent.update(data)
        const isRoom = socket.write(
          Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]),
        )
        if (!isRoom) await once(socket, "drain")
      }
      socket.write("0\r\n\r\n")
    })
    await ask(url, { heard: (what) => typeof what === "number" || heard.update(what) })
    expect(heard.digest("hex")).toBe(sent.digest("hex"))
  })

  test("a request has exactly one length and one host header, whatever was passed", async () => {
    const { url, port, requests } = await startRaw((socket) => socket.write(OK))
    const headers = {
      Host: "other.example",
      "Content-Length": "999",
      "transfer-encoding": "chunked",
      Connection: "close",
      "Keep-Alive": "timeout=1",
      upgrade: "h2c",
      "x-Kept": "\xe4\t~",
    }
    await ask(`${url}a%20b?c=d`, { headers })
    await ask(url, { headers, body: new Uint8Array() })
    const fields = (length: number) => [
      "connection: keep-alive",
      `content-length: ${length}`,
      `host: 127.0.0.1:${port}`,
      "x-kept: \xe4\t~",
    ]
    expect(requests.map(({ head }) => fieldsOf(head))).toEqual([
      ["POST /a%20b?c=d HTTP/1.1", ...fields(5)],
      ["POST / HTTP/1.1", ...fields(0)],
    ])
  })

  test.each([
    ["a line end in a value", { "x-a": "b\r\nx-c: d" }],
    ["a line feed in a value", { "x-a": "b\nx-c: d" }],
    ["NUL in a value", { "x-a": "b\0" }],
    ["a value beyond latin1", { "x-a": "\u0142" }],
    ["a line end in a name", { "x-a\r\nx-b": "c" }],
    ["a space in a name", { "x a": "b" }],
    ["a colon in a name", { "x:": "b" }],
    ["an empty name", { "": "b" }],
  ])("%s is rejected, and nothing is sent", async (_, headers: Readonly<Record<string, string>>) => {
    const { url, requests, connections } = await startRaw((socket) => socket.write(OK))
    await expect(ask(url, { headers })).rejects.toMatchObject({ code: "config_invalid", retryable: false })
    await ask(url)
    await expect(ask(url, { headers })).rejects.toMatchObject({ code: "config_invalid" })
    await ask(url)
    expect([requests.length, connections.length]).toEqual([2, 1])
  })

  test("a process exits although idle connections exist", async () => {
    const { url, connections } = await startRaw((socket) => socket.write(OK))
    const code = "return Promise.all([ask(given), ask(given), ask(given)])"
    expect(await inProcess(code, url)).toEqual(["200 ok", "200 ok", "200 ok"])
    expect(connections.length).toBe(3)
  })
})

/** The request line, then the headers by name. */
function fieldsOf(head: string): readonly string[] {
  const [line, ...fields] = head.trimEnd().split("\r\n")
  return [line ?? "", ...fields.map((field) => field.replace(/^[^:]+/, (name) => name.toLowerCase())).sort()]
}

async function untilAll(held: ReadonlyMap<unknown, unknown>, count: number): Promise<void> {
  while (held.size < count) await turn()
}

/** Pseudo-random, but the same each time. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % below
  }
}

/** The response to a request with this body: only its own number, repeated. */
function pattern(body: Uint8Array): Buffer {
  return Buffer.alloc(body.length * 20, `${Buffer.from(body).readUInt32BE(1)},`)
}

function chunked(body: Buffer, random: (below: number) => number): Buffer {
  const sizes = Array.from({ length: 16 }, () => 1 + random(random(2) === 0 ? 20 : 3000))
  const frames = cut(body, sizes).flatMap((data) => [
    Buffer.from(`${data.length.toString(16)}\r\n`),
    data,
    Buffer.from("\r\n"),
  ])
  const head = Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
  return Buffer.concat([head, ...frames, Buffer.from("0\r\n\r\n")])
}
