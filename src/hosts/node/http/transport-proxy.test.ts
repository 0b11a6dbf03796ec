import { once } from "node:events"
import http, { type ServerResponse } from "node:http"
import https from "node:https"
import net from "node:net"
import type { Duplex } from "node:stream"
import { afterEach, describe, expect, test } from "vitest"
import { listen, startProxy, startTarget, stopServers } from "../../../../test/support/proxy-servers.ts"
import { inProcess } from "../../../../test/support/transport-process.ts"
import { LonghaulError } from "../../../contract/error.ts"
import type { Transport } from "../../../contract/provider.ts"
import { nodeTransport } from "./http-transport.ts"

afterEach(stopServers)

describe("nodeTransport", () => {
  test("an https target is reached through a tunnel, which is kept for the next request", async () => {
    const target = await startTarget(https)
    const proxy = await startProxy()
    const url = `https://localhost:${target.port}/v1?q=1`
    const answers = await ask([url, url], { HTTPS_PROXY: proxy.url })
    expect(answers).toEqual(["200 POST /v1?q=1 test asked", "200 POST /v1?q=1 test asked"])
    expect(proxy.seen).toEqual([`CONNECT localhost:${target.port} -`])
    expect(target.connections()).toBe(1)
  })

  test("a tunnel works through a TLS proxy", async () => {
    const target = await startTarget(https)
    const proxy = await startProxy({ secure: true })
    const url = `https://127.0.0.1:${target.port}/`
    expect(await ask([url, url], { https_proxy: proxy.url })).toEqual([
      "200 POST / test asked",
      "200 POST / test asked",
    ])
    expect(proxy.seen).toEqual([`CONNECT 127.0.0.1:${target.port} -`])
  })

  test("each target has its own tunnels", async () => {
    const [one, two] = [await startTarget(https), await startTarget(https)]
    const proxy = await startProxy()
    const urls = [one, two, one].map(({ port }) => `https://localhost:${port}/`)
    await ask(urls, { ALL_PROXY: proxy.url })
    expect(proxy.seen).toEqual([`CONNECT localhost:${one.port} -`, `CONNECT localhost:${two.port} -`])
  })

  test("an untrusted target certificate is rejected despite the tunnel", async () => {
    const target = await startTarget(https)
    const proxy = await startProxy()
    const failure = await failureOf(`https://localhost:${target.port}/`, { HTTPS_PROXY: proxy.url })
    expect(failure).toMatchObject({ code: "network", message: expect.stringContaining("SELF_SIGNED") })
    expect(proxy.seen.length).toBe(1)
  })

  test("a tunnel that breaks on reuse fails its request, and the next request opens a new one", async () => {
    const target = await startTarget(https)
    const proxy = await startProxy()
    target.server.once("request", (_request, response: ServerResponse) => {
      response.once("finish", () => {
        for (const tunnel of proxy.tunnels) {
          tunnel.unpipe()
          tunnel.once("data", () => tunnel.destroy()).resume()
        }
      })
    })
    const url = `https://localhost:${target.port}/`
    const answers = await ask([url, url, url], { HTTPS_PROXY: proxy.url })
    expect(answers).toEqual([
      "200 POST / test asked",
      expect.stringMatching(/^network: The connection to localhost:\d+ failed/),
      "200 POST / test asked",
    ])
    expect(proxy.seen.length).toBe(2)
  })

  test("an http target is requested in absolute form over one kept connection", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy()
    const url = `http://localhost:${target.port}/v1?q=1`
    const transport = nodeTransport({}, { http_proxy: proxy.url })
    for (let time = 0; time < 2; time++) {
      expect(await stream(transport, url)).toBe("200 POST /v1?q=1 test asked")
    }
    expect(proxy.seen).toEqual([`POST ${url} -`, `POST ${url} -`])
    expect(proxy.connections()).toBe(1)
  })

  test("an http target is requested through a TLS proxy", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy({ secure: true })
    const url = `http://localhost:${target.port}/`
    expect(await ask([url, url], { http_proxy: proxy.url })).toEqual(["200 POST / test asked", "200 POST / test asked"])
    expect(proxy.seen).toEqual([`POST ${url} -`, `POST ${url} -`])
    expect(proxy.connections()).toBe(1)
  })

  test("the proxy's credentials are sent decoded to the proxy only", async () => {
    const plain = await startTarget(http)
    const secure = await startTarget(https)
    const proxy = await startProxy({ login: "me@work:s3cret/ä" })
    const url = proxy.url.replace("http://", "http://me%40work:s3cret%2F%C3%A4@")
    const urls = [`http://localhost:${plain.port}/`, `https://localhost:${secure.port}/`]
    expect(await ask(urls, { ALL_PROXY: url })).toEqual(["200 POST / test asked", "200 POST / test asked"])
    expect([plain.authorizations, secure.authorizations]).toEqual([[undefined], [undefined]])
  })

  test.each([407, 403, 502])("a tunnel refused with %i is a network failure with a fix", async (status) => {
    const proxy = await startProxy({ refuse: status })
    const failure = await failureOf("https://api.example/v1", { HTTPS_PROXY: withPassword(proxy.url) })
    expect(failure).toMatchObject({ code: "network", retryable: status === 502, data: { status } })
    expect(failure.message).toBe(
      `The proxy ${new URL(proxy.url).host} refused to connect to api.example:443 (${status}).`,
    )
    expect(failure.fix).toContain("HTTPS_PROXY")
    expectNoPassword(failure)
  })

  test("a proxy that requires login for an http target is distinguished from the target", async () => {
    const proxy = await startProxy({ refuse: 407 })
    const failure = await failureOf("http://api.example/v1", { http_proxy: proxy.url })
    expect(failure).toMatchObject({ code: "network", retryable: false, data: { status: 407 } })
    expect(failure.fix).toContain("user and password to http_proxy")
  })

  test("a response of a target behind the proxy is attributed to the target, whatever its status", async () => {
    const proxy = await startProxy({ refuse: 403 })
    expect(await stream(nodeTransport({}, { http_proxy: proxy.url }), "http://api.example/v1")).toBe("403 no")
  })

  test.each(["http", "https"])("an unreachable proxy is named in the error for an %s target", async (protocol) => {
    const gone = await startProxy()
    stopServers()
    const failure = await failureOf(`${protocol}://api.example/v1`, { ALL_PROXY: withPassword(gone.url) })
    expect(failure.code).toBe("network")
    expect(failure.message).toBe(`The connection to the proxy ${new URL(gone.url).host} failed (ECONNREFUSED).`)
    expect(failure.fix).toContain("ALL_PROXY")
    expectNoPassword(failure)
  })

  test.each(["http://me:hunter2@", "me:hunter2@proxy.example:port", "http://me:hunter2%ZZ@proxy.example"])(
    "%j is not a valid proxy, and its password is not repeated",
    async (value) => {
      const failure = await failureOf("https://api.example/v1", { HTTPS_PROXY: value })
      expect(failure).toMatchObject({ code: "config_invalid", fix: expect.stringContaining("HTTPS_PROXY") })
      expectNoPassword(failure)
    },
  )

  test.each(["ALL_PROXY", "all_proxy", "HTTPS_PROXY"])(
    "%s with a SOCKS proxy is config_invalid with a fix",
    async (variable) => {
      const failure = await failureOf("https://api.example/v1", { [variable]: "socks5h://me:hunter2@127.0.0.1:1080" })
      expect(failure).toMatchObject({ code: "config_invalid", retryable: false })
      expect(failure.message).toBe(`${variable} names a SOCKS proxy: only http and https proxies are supported.`)
      expect(failure.fix).toMatch(/^Set https?_proxy|^Set HTTPS_PROXY/i)
      expect(failure.fix).toContain("NO_PROXY")
      expectNoPassword(failure)
    },
  )

  test("a SOCKS proxy in ALL_PROXY is ignored if an http proxy is set or the host is excluded", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy()
    const url = `http://localhost:${target.port}/`
    const socks = { ALL_PROXY: "socks5h://127.0.0.1:1080" }
    expect(await stream(nodeTransport({}, { ...socks, http_proxy: proxy.url }), url)).toBe("200 POST / test asked")
    expect(await stream(nodeTransport({}, { ...socks, NO_PROXY: "localhost" }), url)).toBe("200 POST / test asked")
    expect(proxy.seen.length).toBe(1)
  })

  test("upper-case HTTP_PROXY is ignored, as in curl, because CGI sets it from a request header", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy()
    const url = `http://localhost:${target.port}/`
    expect(await stream(nodeTransport({}, { HTTP_PROXY: proxy.url }), url)).toBe("200 POST / test asked")
    expect(proxy.seen).toEqual([])
  })

  test("a proxy may be given without a scheme", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy()
    const { host } = new URL(proxy.url)
    await stream(nodeTransport({}, { http_proxy: host }), `http://localhost:${target.port}/`)
    expect(proxy.seen.length).toBe(1)
  })

  test("hosts in NO_PROXY are reached directly", async () => {
    const target = await startTarget(http)
    const proxy = await startProxy()
    const url = `http://localhost:${target.port}/`
    const answer = await stream(nodeTransport({}, { http_proxy: proxy.url, NO_PROXY: "other, localhost" }), url)
    expect(answer).toBe("200 POST / test asked")
    expect(proxy.seen).toEqual([])
  })

  test("proxy variables are read when the transport is created, and not again", async () => {
    const target = await startTarget(http)
    const variables: Record<string, string> = {}
    const transport = nodeTransport({}, variables)
    variables.http_proxy = "http://127.0.0.1:1"
    expect(await stream(transport, `http://localhost:${target.port}/`)).toBe("200 POST / test asked")
  })

  test("an abort cancels a tunnel that is being opened", async () => {
    const sockets: Duplex[] = []
    const silent = net.createServer((socket) => sockets.push(socket))
    const variables = { HTTPS_PROXY: `http://127.0.0.1:${await listen(silent)}` }
    const controller = new AbortController()
    const streaming = stream(nodeTransport({}, variables), "https://api.example/", controller.signal)
    await once(silent, "connection")
    const closed = once(sockets[0]?.resume() as Duplex, "close")
    controller.abort()
    await expect(streaming).rejects.toMatchObject({ code: "network" })
    await closed
  })

  test.each([
    [{ https_proxy: "http://127.0.0.1:1", HTTPS_PROXY: "http://127.0.0.1:2" }, "https://api.example", 1],
    [{ HTTPS_PROXY: "http://127.0.0.1:2", ALL_PROXY: "http://127.0.0.1:3" }, "https://api.example", 2],
    [{ HTTPS_PROXY: "", ALL_PROXY: "http://127.0.0.1:3" }, "https://api.example", 3],
    [{ HTTPS_PROXY: "http://127.0.0.1:2", all_proxy: "http://127.0.0.1:3" }, "http://api.example", 3],
  ] as const)("with %j, %s goes through port %i", async (variables, url, port) => {
    const failure = await failureOf(url, variables)
    expect(failure.message).toContain(`the proxy 127.0.0.1:${port} `)
  })

  /** The result of a separate process, which trusts the certificate and exits only if no idle connection holds it. */
  async function ask(urls: readonly string[], variables: Readonly<Record<string, string>>): Promise<unknown> {
    return inProcess(
      "const all = []; for (const url of given.urls) all.push(await ask(url, given.variables)); return all",
      { urls, variables },
    )
  }

  async function stream(transport: Transport, url: string, signal?: AbortSignal): Promise<string> {
    let answer = ""
    await transport.stream(
      { url, headers: { "x-kind": "test" }, body: Buffer.from("asked"), ...(signal && { signal }) },
      {
        head(status) {
          answer += `${status} `
        },
        chunk(bytes) {
          answer += Buffer.from(bytes)
        },
      },
    )
    return answer
  }

  async function failureOf(url: string, variables: Readonly<Record<string, string>>): Promise<LonghaulError> {
    const error = await stream(nodeTransport({}, variables), url).catch((thrown: unknown) => thrown)
    if (!LonghaulError.is(error)) throw new Error(`Not a failure of ours: ${String(error)}`)
    return error
  }
})

function withPassword(url: string): string {
  return url.replace("http://", "http://me:hunter2@")
}

function expectNoPassword(error: LonghaulError): void {
  const { stack, cause } = error as Error
  const shown = [JSON.stringify(error), stack, JSON.stringify(cause ?? null), String(cause), (cause as Error)?.stack]
  for (const secret of ["hunter2", Buffer.from("me:hunter2").toString("base64")]) {
    expect(shown.join("\n")).not.toContain(secret)
  }
}
