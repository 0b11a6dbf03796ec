import { once } from "node:events"
import http, { type IncomingMessage } from "node:http"
import fc from "fast-check"
import { afterEach, expect, test } from "vitest"
import { stopServers } from "../../../../../test/support/proxy-servers.ts"
import {
  anyResponse,
  commonResponse,
  cut,
  type RawResponse,
  readSizes,
  reusableResponse,
} from "../../../../../test/support/raw-responses.ts"
import { startRaw } from "../../../../../test/support/raw-server.ts"
import { directTransport } from "./index.ts"
import { ResponseParser } from "./response.ts"

afterEach(stopServers)

test("any encoding and any chunking of a response yields its content, and its end is known with the last byte", () => {
  fc.assert(
    fc.property(reusableResponse, anyResponse, readSizes, (first, second, sizes) => {
      const parser = new ResponseParser()
      for (const response of [first, second]) {
        const told = listenTo(parser)
        const untilClose = response.framing === "close"
        let left = response.bytes.length
        let mistaken = 0
        for (const piece of cut(response.bytes, sizes)) {
          read(parser, piece)
          left -= piece.length
          if (parser.isWhole !== (left === 0 && !untilClose)) mistaken++
          if (parser.endsAtClose !== (told.status !== undefined && untilClose)) mistaken++
        }
        expect(mistaken).toBe(0)
        expectTold(told, response)
        expect(parser.isReusable).toBe(!untilClose)
        expect(parser.idleMs).toBe(Number.POSITIVE_INFINITY)
      }
    }),
    { numRuns: 2000 },
  )
})

test("the chunks of one socket read are published together", () => {
  const parser = new ResponseParser()
  const told = listenTo(parser)
  read(parser, `${OK}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n1\r\n`)
  read(parser, "f\r\n0\r\n\r\n")
  expect(told.chunks.map(String)).toEqual(["abcde", "f"])
})

test("node:http parses the same bytes into the same response", async () => {
  let response: RawResponse
  let pieces: readonly Uint8Array[] = []
  const { url } = await startRaw(async (socket) => {
    for (const piece of pieces) {
      if (!socket.write(piece)) await once(socket, "drain")
    }
    socket.end()
  })
  const transport = directTransport({})
  await fc.assert(
    fc.asyncProperty(commonResponse, readSizes, async (next, sizes) => {
      response = next
      pieces = cut(response.bytes, sizes)
      expectTold(await askNode(url), response)
      const told: Told = { status: undefined, header: () => undefined, chunks: [] }
      await transport.stream({ url, headers: {}, body: new Uint8Array() }, listener(told))
      expectTold(told, response)
    }),
    { numRuns: 400 },
  )
})

test.each([
  ["nothing else said", "HTTP/1.1", "", true],
  ["it is to be closed", "HTTP/1.1", "connection: close\r\n", false],
  ["it is to be closed, among other things", "HTTP/1.1", "Connection: x, Close\r\n", false],
  ["both are said", "HTTP/1.1", "connection: keep-alive\r\nconnection: close\r\n", false],
  ["HTTP/1.0", "HTTP/1.0", "", false],
  ["HTTP/1.0 that keeps it", "HTTP/1.0", "connection: Keep-Alive\r\n", true],
  ["HTTP/1.0 that says both", "HTTP/1.0", "connection: keep-alive, close\r\n", false],
])("reuse of a connection: %s", (_, version, line, expected) => {
  const parser = new ResponseParser()
  listenTo(parser)
  read(parser, `${version} 200 OK\r\n${line}content-length: 2\r\n\r\nok`)
  expect([parser.isWhole, parser.isReusable]).toEqual([true, expected])
})

test("chunks in an HTTP/1.0 response are read, and the connection is not reused", () => {
  const parser = new ResponseParser()
  const told = listenTo(parser)
  read(parser, "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
  expect([String(Buffer.concat(told.chunks)), parser.isWhole, parser.isReusable]).toEqual(["ok", true, false])
})

test.each(["content-length: 2\r\n\r\nok", "content-length: 0\r\n\r\n", "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"])(
  "bytes after the end of %j are discarded, and the connection is not reused",
  (rest) => {
    for (const more of ["\r\n", `${OK}content-length: 0\r\n\r\n`]) {
      const parser = new ResponseParser()
      const told = listenTo(parser)
      read(parser, `${OK}${rest}${more}`)
      expect([parser.isWhole, parser.isReusable, told.status]).toEqual([true, false, 200])
    }
  },
)

test.each([
  ["timeout=5", 5000],
  ["max=100, timeout=20", 20_000],
  ["timeout=0", 0],
  ["max=7", Number.POSITIVE_INFINITY],
  ["timeout=soon", Number.POSITIVE_INFINITY],
])("keep-alive header: %s", (value, expected) => {
  const parser = new ResponseParser()
  listenTo(parser)
  read(parser, `${OK}keep-alive: ${value}\r\ncontent-length: 0\r\n\r\n`)
  expect(parser.idleMs).toBe(expected)
  listenTo(parser)
  read(parser, `${OK}content-length: 0\r\n\r\n`)
  expect(parser.idleMs).toBe(Number.POSITIVE_INFINITY)
})

const mutation = fc.record({
  kind: fc.constantFrom("flip", "insert", "delete", "repeat"),
  at: fc.nat({ max: 1 << 16 }),
  byte: fc.oneof(fc.constantFrom(...Buffer.from("\r\n\0:; ,0f\t\xa0", "latin1")), fc.nat({ max: 255 })),
})

test("a damaged response is read, awaited or rejected, without any other failure", () => {
  const seen = { whole: 0, more: 0, refused: 0 }
  fc.assert(
    fc.property(anyResponse, fc.array(mutation, { minLength: 1, maxLength: 4 }), readSizes, (response, all, sizes) => {
      const parser = new ResponseParser()
      const told = listenTo(parser)
      const bytes = all.reduce(mutate, response.bytes)
      let fed = 0
      try {
        for (const piece of cut(bytes, sizes)) {
          if (parser.isWhole) break
          read(parser, piece)
          fed += piece.length
        }
        seen[parser.isWhole ? "whole" : "more"]++
        if (parser.isWhole || parser.endsAtClose) expect(told.status).toBeGreaterThanOrEqual(200)
      } catch (error) {
        expect(error).toMatchObject({
          code: "INVALID_HTTP",
          message: expect.stringMatching(/^The response is not HTTP/),
        })
        seen.refused++
      }
      expect(Buffer.concat(told.chunks).length).toBeLessThanOrEqual(fed)
      if (told.status === undefined) expect(told.chunks).toEqual([])
    }),
    { numRuns: 5000, seed: 9112 },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100)
})

function mutate(
  bytes: Buffer,
  { kind, at, byte }: { readonly kind: string; readonly at: number; readonly byte: number },
) {
  const index = at % (bytes.length + 1)
  const [before, after] = [bytes.subarray(0, index), bytes.subarray(index)]
  const given = Buffer.from([byte])
  if (kind === "flip") return Buffer.concat([before, given, after.subarray(1)])
  if (kind === "insert") return Buffer.concat([before, given, after])
  if (kind === "delete") return Buffer.concat([before, after.subarray(1 + (byte % 4))])
  return Buffer.concat([before, after.subarray(0, byte), after])
}

interface Told {
  status: number | undefined
  header: (name: string) => string | undefined
  readonly chunks: Buffer[]
}

const OK = "HTTP/1.1 200 OK\r\n"

function listenTo(parser: ResponseParser): Told {
  const told: Told = { status: undefined, header: () => undefined, chunks: [] }
  parser.expect(listener(told))
  return told
}

function listener(told: Told) {
  return {
    head(status: number, header: Told["header"]) {
      if (told.status !== undefined) throw new Error("told twice")
      told.status = status
      told.header = header
    },
    chunk(bytes: Uint8Array) {
      if (told.status === undefined || bytes.length === 0) throw new Error("told of nothing")
      told.chunks.push(Buffer.from(bytes))
    },
  }
}

/** Like a socket's reads: all in the same reused buffer. */
function read(parser: ResponseParser, piece: Uint8Array | string): void {
  const bytes = typeof piece === "string" ? Buffer.from(piece, "latin1") : piece
  memory.set(bytes, 7)
  parser.push(memory.subarray(7, 7 + bytes.length))
  memory.fill(33, 7, 7 + bytes.length)
}

const memory = new Uint8Array(128 * 1024)

function expectTold({ status, header, chunks }: Told, response: RawResponse): void {
  expect(status).toBe(response.status)
  for (const [name, value] of Object.entries(response.headers)) expect([name, header(name)]).toEqual([name, value])
  expect(header("x-never")).toBe(undefined)
  expect(Buffer.concat(chunks)).toEqual(response.body)
}

async function askNode(url: string): Promise<Told> {
  const request = http.request(url, { method: "POST", agent: false }).end()
  const [response] = (await once(request, "response")) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const { statusCode, headers } = response
  return { status: statusCode, header: (name) => headers[name] as string | undefined, chunks }
}
