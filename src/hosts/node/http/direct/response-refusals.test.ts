import http from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { stopServers } from "../../../../../test/support/proxy-servers.ts"
import { startRaw } from "../../../../../test/support/raw-server.ts"
import { ResponseParser } from "./response.ts"

afterEach(stopServers)

const OK = "HTTP/1.1 200 OK\r\n"
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
const TAIL = "content-length: 2\r\n\r\nok"
const LONG = "x".repeat(70_000)

/** Description, bytes, and why we are stricter than `node:http` in some cases. */
const table: readonly (readonly [string, string, string?])[] = [
  ["no status line", `Content-Type: text/plain\r\n${TAIL}`],
  ["something before the status line", `x${OK}${TAIL}`],
  ["an empty line before the status line", `\r\n${OK}${TAIL}`, "only servers are asked to skip one"],
  ["nothing but an empty line", `\r\n\r\n${OK}${TAIL}`, "only servers are asked to skip one"],
  ["a status line of HTTP/2", `HTTP/2 200 OK\r\n${TAIL}`],
  ["a status line of HTTP/2.0", `HTTP/2.0 200 OK\r\n${TAIL}`, "Node reads it as HTTP/1.1"],
  ["a status line of HTTP/0.9", `HTTP/0.9 200 OK\r\n${TAIL}`, "it has no headers, so nobody can mean it"],
  ["a status of two digits", `HTTP/1.1 20 OK\r\n${TAIL}`],
  ["a status of four digits", `HTTP/1.1 2000 OK\r\n${TAIL}`],
  ["a status that begins with 0", `HTTP/1.1 099 OK\r\n${TAIL}`, "no class of statuses begins with 0"],
  ["a line that ends in LF", `${OK}x: y\n${TAIL}`],
  ["a status line that ends in LF", `HTTP/1.1 200 OK\n${TAIL}`],
  [
    "a head that ends in LF LF",
    "HTTP/1.1 200 OK\r\nx: y\n\ncontent-length: 2\r\n\r\nok",
    "Node tells lines apart at LF",
  ],
  ["CR in a value", `${OK}x: y\rz\r\n${TAIL}`],
  ["CR in a name", `${OK}x\ry: z\r\n${TAIL}`],
  ["CR in the reason", `HTTP/1.1 200 O\rK\r\n${TAIL}`],
  ["NUL in a value", `${OK}x: y\0z\r\n${TAIL}`],
  ["NUL in the reason", `HTTP/1.1 200 O\0K\r\n${TAIL}`, "a program in C reads to the NUL"],
  ["a control character in a value", `${OK}x: y\x0bz\r\n${TAIL}`],
  ["DEL in a value", `${OK}x: y\x7fz\r\n${TAIL}`],
  ["a space before the colon", `${OK}x : y\r\n${TAIL}`],
  ["no colon", `${OK}xy\r\n${TAIL}`],
  ["an empty name", `${OK}: y\r\n${TAIL}`],
  ["a name that is no token", `${OK}x(y): z\r\n${TAIL}`],
  ["a value that goes on in the next line", `${OK}x: y\r\n z\r\n${TAIL}`],
  ["a head that begins with a space", `${OK} x: y\r\n${TAIL}`],
  ["a bad header of an informational response", `HTTP/1.1 103 Early\r\nx y: z\r\n\r\n${OK}${TAIL}`],
  ["content-length twice", `${OK}content-length: 2\r\n${TAIL}`],
  ["content-length twice, once different", `${OK}content-length: 3\r\n${TAIL}`],
  ["two lengths in one line", `${OK}content-length: 2, 2\r\n\r\nok`],
  ["content-length with transfer-encoding", `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["a length that is no number", `${OK}content-length: two\r\n\r\nok`],
  ["a length that is empty", `${OK}content-length:\r\n\r\nok`],
  ["a negative length", `${OK}content-length: -2\r\n\r\nok`],
  ["a length with a plus", `${OK}content-length: +2\r\n\r\nok`],
  ["a length in hex", `${OK}content-length: 0x2\r\n\r\nok`],
  ["a length with a space in it", `${OK}content-length: 0 2\r\n\r\nok`],
  ["a length with a space that is none", `${OK}content-length: 2\xa0\r\n\r\nok`],
  ["a length beyond counting", `${OK}content-length: 99999999999999999999\r\n\r\nok`],
  ["transfer-encoding: gzip", `${OK}transfer-encoding: gzip\r\n\r\nok`, "Node hands on what nobody can read"],
  ["transfer-encoding: identity", `${OK}transfer-encoding: identity\r\n\r\nok`, "no longer exists"],
  ["transfer-encoding: gzip, chunked", `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, "as above"],
  ["chunked, chunked", `${OK}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, "chunks in chunks, or not"],
  ["chunked twice", `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, "as above"],
  ["chunked with a space that is none", `${OK}transfer-encoding: chunked\xa0\r\n\r\n0\r\n\r\n`, "as above"],
  ["an empty transfer-encoding", `${OK}transfer-encoding:\r\n\r\nok`, "as above"],
  ["no chunk size", `${CHUNKED}\r\nab\r\n0\r\n\r\n`],
  ["no chunk size but an extension", `${CHUNKED};x\r\nab\r\n0\r\n\r\n`],
  ["a space before the chunk size", `${CHUNKED} 2\r\nab\r\n0\r\n\r\n`],
  ["a chunk size with 0x", `${CHUNKED}0x2\r\nab\r\n0\r\n\r\n`],
  ["a negative chunk size", `${CHUNKED}-2\r\nab\r\n0\r\n\r\n`],
  ["a chunk size that is no hex", `${CHUNKED}g\r\nab\r\n0\r\n\r\n`],
  ["a chunk size too large to count", `${CHUNKED}20000000000000\r\nab`, "Node counts in 64 bits, we in 53"],
  ["a chunk size too large for anybody", `${CHUNKED}${"f".repeat(17)}\r\nab`],
  ["a chunk size followed by junk", `${CHUNKED}2 junk\r\nab\r\n0\r\n\r\n`],
  ["a chunk size followed by another", `${CHUNKED}2 3\r\nab\r\n0\r\n\r\n`],
  ["a chunk size that ends in LF", `${CHUNKED}2\nab\r\n0\r\n\r\n`],
  ["a chunk size with CR only", `${CHUNKED}2\rab\r\n0\r\n\r\n`],
  ["an extension that ends in LF", `${CHUNKED}2;x\nab\r\n0\r\n\r\n`],
  ["CR in an extension", `${CHUNKED}2;x\ry\r\nab\r\n0\r\n\r\n`],
  ["no CRLF after a chunk's data", `${CHUNKED}2\r\nab0\r\n\r\n`],
  ["CR only after a chunk's data", `${CHUNKED}2\r\nab\r0\r\n\r\n`],
  ["LF only after a chunk's data", `${CHUNKED}2\r\nab\n0\r\n\r\n`],
  ["more data than the chunk's size", `${CHUNKED}2\r\nabc\r\n0\r\n\r\n`],
  ["a trailer that ends in LF", `${CHUNKED}0\r\nx: y\n\r\n`],
  ["CR in a trailer", `${CHUNKED}0\r\nx: y\rz\r\n\r\n`],
  ["LF in place of the last line", `${CHUNKED}0\r\n\n`],
  ["101", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "told apart as an upgrade"],
  ["a header of more than 64 KiB", `${OK}x: ${LONG}\r\n${TAIL}`],
  ["more than 64 KiB of headers", `${OK}${"x: y\r\n".repeat(11_000)}${TAIL}`],
  ["an endless status line", `HTTP/1.1 200 ${LONG}`],
  ["an endless chunk extension", `${CHUNKED}2;${LONG}`],
  ["an endless chunk size", `${CHUNKED}${"0".repeat(70_000)}`, "Node counts digits only once they count"],
  ["endless trailers", `${CHUNKED}0\r\n${"x: y\r\n".repeat(11_000)}`],
]

const refused = table.map(([what, bytes, stricter]) => ({ what, bytes, isNodes: stricter === undefined }))

describe.each(refused)("$what", ({ bytes, isNodes }) => {
  test.each([1, 100, 1 << 20])("the response is rejected when read %i bytes at a time", (size) => {
    expect(() => readBy(size, bytes)).toThrow(expect.objectContaining({ code: "INVALID_HTTP" }))
  })

  if (isNodes) {
    test("node:http rejects the response too", async () => {
      expect(await askNode(bytes)).toMatch(/^HPE_/)
    })
  }
})

test.each([
  ["a head of 60 KiB", `${OK}x: ${"x".repeat(60_000)}\r\n${TAIL}`],
  [
    "extensions and trailers of 60 KiB",
    `${CHUNKED}2;${"x".repeat(60_000)}\r\nok\r\n0\r\nx: ${"x".repeat(60_000)}\r\n\r\n`,
  ],
  ["the largest chunk that can be counted", `${CHUNKED}1fffffffffffff\r\nok`],
])("%s is within the limits", (_, bytes) => {
  for (const size of [1, 1 << 20]) expect(readBy(size, bytes)).toBe("ok")
})

/** The received part of the body. */
function readBy(size: number, text: string): string {
  const bytes = Buffer.from(text, "latin1")
  const parser = new ResponseParser()
  let told = ""
  parser.expect({
    head() {},
    chunk(chunk) {
      told += Buffer.from(chunk)
    },
  })
  for (let at = 0; at < bytes.length; at += size) parser.push(Buffer.from(bytes.subarray(at, at + size)))
  return told
}

/** Node's error code; or what else happened if it accepted it. */
async function askNode(text: string): Promise<string> {
  const { url } = await startRaw((socket) => socket.end(Buffer.from(text, "latin1")))
  return new Promise((resolve) => {
    const request = http.request(url, { method: "POST", agent: false })
    let verdict = "nothing"
    request.on("error", (error: NodeJS.ErrnoException) => {
      verdict = error.code ?? error.message
    })
    request.on("response", (response) => {
      verdict = "accepted"
      response.on("error", () => {}).resume()
    })
    request.on("upgrade", (_, socket) => {
      verdict = "upgrade"
      socket.destroy()
    })
    request.on("close", () => resolve(verdict))
    request.end()
  })
}
