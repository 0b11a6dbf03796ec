import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { afterEach, describe, expect, test } from "vitest"
import { stopServers } from "../../../../test/support/proxy-servers.ts"
import { failureOf, fetchOptions, startWeb, textOf } from "../../../../test/support/web-servers.ts"
import { nodeFetch } from "./guarded-fetch.ts"

afterEach(stopServers)

describe("response bodies", () => {
  const text = "page ".repeat(2000)

  test.each([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["br", brotliCompressSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["identity", Buffer.from(text)],
  ])("a compressed body is decompressed: %s", async (encoding, body) => {
    const server = await startWeb((_, response) => response.writeHead(200, { "content-encoding": encoding }).end(body))
    const answer = await nodeFetch({ allow: ["127.0.0.1"] }).get(server.url, fetchOptions)
    expect(textOf(answer.bytes)).toBe(text)
    expect(server.seen[0]?.headers["accept-encoding"]).toBe("gzip, br, deflate")
  })

  test.each(["gzip", "br", "deflate", "identity"])(
    "a body that is too long is cut, compressed or not: %s",
    async (encoding) => {
      const pack = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, identity: Buffer.from }[encoding]
      const server = await startWeb((_, response) => {
        response.writeHead(200, { "content-encoding": encoding }).end(pack?.(Buffer.from(text)))
      })
      const fetch = nodeFetch({ allow: ["127.0.0.1"] })
      const cut = await fetch.get(server.url, { ...fetchOptions, maxBytes: 7 })
      expect([textOf(cut.bytes), cut.truncated]).toEqual(["page pa", true])
      const whole = await fetch.get(server.url, { ...fetchOptions, maxBytes: text.length })
      expect([whole.bytes.length, whole.truncated]).toEqual([text.length, false])
    },
  )

  test("decompression of a bomb stops at the limit and reads no further", async () => {
    const megabyte = gzipSync(Buffer.alloc(1 << 20))
    let sent = 0
    const server = await startWeb((request, response) => {
      request.socket.setNoDelay()
      response.writeHead(200, { "content-encoding": "gzip" })
      const more = () => {
        if (response.destroyed || sent === 20_000) return response.end()
        sent++
        return response.write(megabyte, () => setImmediate(more))
      }
      more()
    })
    const answer = await nodeFetch({ allow: ["127.0.0.1"] }).get(server.url, fetchOptions)
    expect([answer.bytes.length, answer.truncated]).toEqual([fetchOptions.maxBytes, true])
    // Sockets buffer some megabytes of unread data.
    expect(sent).toBeLessThan(10_000)
  })

  test("a body that decompresses to nothing endlessly is aborted", async () => {
    const nothing = gzipSync("")
    const server = await startWeb((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" })
      const more = () => {
        while (!response.destroyed && response.write(Buffer.concat(Array.from({ length: 500 }, () => nothing)))) {}
      }
      response.on("drain", more)
      more()
    })
    const failed = await failureOf(server.url, { allow: ["127.0.0.1"] })
    expect(failed).toEqual({ code: "io", message: "The response is larger compressed than decompressed." })
  })

  test.each([
    ["gzip", "no gzip at all"],
    ["br", "no brotli at all"],
    ["deflate", gzipSync(text).subarray(0, 20)],
    ["gzip", gzipSync(text).subarray(0, 40)],
    ["zstd", "x"],
    ["gzip, gzip", gzipSync(gzipSync(text))],
  ])("a body that cannot be decompressed is an error: %s", async (encoding, body) => {
    const server = await startWeb((_, response) => response.writeHead(200, { "content-encoding": encoding }).end(body))
    expect(await failureOf(server.url, { allow: ["127.0.0.1"] })).toMatchObject({ code: "io" })
  })

  test.each(["gzip", "identity"])("a truncated body is an error: %s", async (encoding) => {
    const server = await startWeb((_, response) => {
      response.writeHead(200, { "content-encoding": encoding, "content-length": "1000" })
      response.write(encoding === "gzip" ? gzipSync(text).subarray(0, 20) : "half", () => response.destroy())
    })
    expect(await failureOf(server.url, { allow: ["127.0.0.1"] })).toMatchObject({ code: "io" })
  })
})

describe("a response that does not arrive", () => {
  test.each(["before the head", "in the body", "in a packed body"])("a fetch times out: %s", async (place) => {
    const server = await startWeb((_, response) => {
      if (place === "before the head") return
      response.writeHead(200, place === "in the body" ? {} : { "content-encoding": "gzip" })
      response.write(place === "in the body" ? "some" : gzipSync("some").subarray(0, 12))
    })
    const failed = await failureOf(server.url, { allow: ["127.0.0.1"] }, { timeoutMs: 100 })
    expect(failed).toEqual({ code: "timeout", message: "No complete response within 100 ms." })
  })

  test("a fetch times out during the DNS lookup", async () => {
    const resolve = () => new Promise<readonly string[]>(() => {})
    const failed = await failureOf("http://slow.example/", { resolve }, { timeoutMs: 50 })
    expect(failed).toMatchObject({ code: "timeout" })
  })

  test("an abort ends the wait for a response and closes the connection", async () => {
    const abort = new AbortController()
    let closed: Promise<unknown> | undefined
    const server = await startWeb((request, response) => {
      closed = new Promise((resolve) => request.socket.on("error", () => {}).on("close", resolve))
      response.write("some", () => abort.abort())
    })
    const failed = await failureOf(server.url, { allow: ["127.0.0.1"] }, { signal: abort.signal })
    expect(failed).toMatchObject({ code: "aborted" })
    await closed
    const again = await failureOf(server.url, { allow: ["127.0.0.1"] }, { signal: abort.signal })
    expect([again.code, server.connections()]).toEqual(["aborted", 1])
  })

  test("a failure contains the reason and none of the sent data", async () => {
    const server = await startWeb((request) => request.socket.destroy())
    const headers = { authorization: "Bearer secret" }
    const reset = await failureOf(`${server.url}/?q=secret`, { allow: ["127.0.0.1"] }, { headers })
    expect(reset).toEqual({
      code: "io",
      message: `No usable response from 127.0.0.1:${server.port} (ECONNRESET).`,
    })
    const unsendable = await failureOf(server.url, { allow: ["127.0.0.1"] }, { headers: { "x-key": "secret\n" } })
    expect(unsendable).toEqual({
      code: "io",
      message: `No usable response from 127.0.0.1:${server.port} (ERR_INVALID_CHAR).`,
    })
  })
})
