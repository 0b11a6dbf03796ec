import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { afterAll } from "vitest"
import { PolicyClient, type PolicyClientOptions } from "../../src/policy/service/index.ts"

/** Closed when the tests of the file have ended. */
export const open: (() => unknown)[] = []
afterAll(async () => {
  for (const close of open.splice(0)) await close()
})

export type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

interface Served {
  readonly url: string
  /** The path and the body of each. */
  readonly requests: string[]
  /** The authorization of each. */
  readonly keys: string[]
}

/** A server that misbehaves as told. */
export async function server(answer: Answer): Promise<Served> {
  const requests: string[] = []
  const keys: string[] = []
  const listening = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text) => {
      body += text
    })
    request.on("end", () => {
      requests.push(`${request.url} ${body}`)
      keys.push(request.headers.authorization ?? "")
      answer(request, response, body)
    })
  }).listen(0, "127.0.0.1")
  await once(listening, "listening")
  open.push(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, requests, keys }
}

export const client = (baseUrl: string, more: Partial<PolicyClientOptions> = {}) =>
  new PolicyClient({ baseUrl, apiKey: "key-of-the-test", allowInsecureTransport: true, timeoutMs: 1000, ...more })

export const json = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
}
const raw =
  (text: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(200, headers).end(text)
  }

/** Silence: nothing usable came. Everything else is an answer that is not understood, or a refusal. */
export const silent: readonly (readonly [string, Answer])[] = [
  ["status 500", (_, response) => json(response, { decision: "allow" }, 500)],
  ["status 503 without a body", (_, response) => response.writeHead(503).end()],
  ["a reset connection", (request) => request.socket.destroy()],
  [
    "a cut body",
    (request, response) => {
      response.writeHead(200, { "content-length": "1000" })
      response.write('{"decision":"allow"')
      setImmediate(() => request.socket.destroy())
    },
  ],
  ["no answer", () => {}],
  [
    "a body that drips",
    (_, response) => {
      const timer = setInterval(() => response.write(" "), 20)
      response.on("close", () => clearInterval(timer))
    },
  ],
]
export const wrong: readonly (readonly [string, Answer])[] = [
  ["status 204", (_, response) => response.writeHead(204).end()],
  ["status 400", (_, response) => json(response, { decision: "allow" }, 400)],
  ["status 401", (_, response) => json(response, { decision: "allow" }, 401)],
  ["status 404", (_, response) => json(response, { decision: "allow" }, 404)],
  ["an empty body", raw("")],
  ["malformed JSON", raw('{"decision":"allow"')],
  ["HTML", raw("<html>allow</html>")],
  ["an unknown verdict", raw('{"decision":"permit"}')],
  ["an upper-case verdict", raw('{"decision":"ALLOW"}')],
  ["a verdict that is no text", raw('{"decision":true}')],
  ["no verdict", raw("{}")],
  ["an array", raw('[{"decision":"allow"}]')],
  ["a text", raw('"allow"')],
  ["null", raw("null")],
  ["__proto__", raw('{"__proto__":{"decision":"allow"},"decision":"allow"}')],
  ["arguments that are not an object", raw('{"decision":"allow","toolInput":"ls"}')],
  ["a verdict about another call", raw('{"decision":"allow","digest":"0"}')],
  [
    "bad UTF-8",
    raw(Buffer.concat([Buffer.from('{"decision":"allow","reason":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])),
  ],
  ["2 MB", raw(`{"decision":"allow","reason":"${"x".repeat(2 * 1024 * 1024)}"}`)],
  [
    "a gzip bomb",
    raw(gzipSync(`{"decision":"allow","reason":"${"x".repeat(30_000_000)}"}`), { "content-encoding": "gzip" }),
  ],
  ["a redirect", (_, response) => response.writeHead(302, { location: "/elsewhere" }).end()],
  ["a permanent redirect", (_, response) => response.writeHead(308, { location: "https://example.com" }).end()],
]
export const outputOnly = new Set(["arguments that are not an object", "a verdict about another call"])

export const isBefore = (request: IncomingMessage) => request.url?.endsWith("pre-tool") === true
