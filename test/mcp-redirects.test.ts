import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { serveAsking } from "./mcp-client/asking-server.mjs"

const toClose: (() => unknown)[] = []
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** A server that sends every request elsewhere, or answers nothing useful. */
async function listening(status: number, targetOf: (path: string) => string | undefined) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request
    seen.push({ method, url, headers })
    const target = targetOf(url)
    response.writeHead(target === undefined ? 404 : status, target === undefined ? {} : { location: target }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  toClose.push(() => new Promise((resolve) => server.close(resolve)))
  // Safe: it listens on a port.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen }
}

const secrets = {
  headers: { "x-api-key": "key-of-the-server-1" },
  headersProvider: () => ({ authorization: "Bearer token-of-the-server-2" }),
}

function runtimeWith(server: object) {
  const runtime = createRuntime({
    model: scriptedModel(["Done."]),
    store: memoryStore(),
    tools: [],
    // Safe: the form of a server at an address.
    mcpServers: { there: server as { readonly url: string } },
  })
  toClose.push(() => runtime.close())
  return runtime
}

describe.each(["http", "sse"] as const)("an MCP server (%s) that redirects", (type) => {
  test.each([302, 307, 308])(
    "a redirect to another origin (%i) is not followed, and its headers are not sent there",
    async (status) => {
      const other = await listening(404, () => undefined)
      const server = await listening(status, (path) => `${other.url}${path}`)
      const result = await runtimeWith({ type, url: `${server.url}/mcp`, ...secrets }).run({ task: "x" })
      expect(server.seen.length).toBeGreaterThan(0)
      expect(other.seen).toEqual([])
      expect(JSON.stringify(result.warnings)).toContain("redirect")
      expect(JSON.stringify(result)).not.toMatch(/key-of-the-server|token-of-the-server/)
    },
  )

  test("a redirect in a circle fails, and does not hang", async () => {
    const server = await listening(307, (path) => `${path}x`)
    const result = await runtimeWith({ type, url: `${server.url}/mcp`, ...secrets }).run({ task: "x" })
    expect(result).toMatchObject({ status: "done", text: "Done." })
    expect(server.seen.length).toBeLessThan(50)
  })
})

test("an MCP server that redirects within its origin is followed, with its headers", async () => {
  const served = await serveAsking({})
  toClose.push(() => served.close())
  const { origin, pathname } = new URL(served.url)
  const real = createServer(async (request, response) => {
    if (request.url !== pathname) {
      response.writeHead(307, { location: pathname }).end()
      return
    }
    keys.push(request.headers["x-api-key"])
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = "GET" } = request
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === "string" && !["host", "connection", "content-length"].includes(name) ? [[name, value]] : [],
    )
    const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
    const answer = await fetch(`${origin}${pathname}`, { method, headers, ...body })
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  const keys: unknown[] = []
  await new Promise<void>((resolve) => real.listen(0, "127.0.0.1", resolve))
  toClose.push(() => new Promise((resolve) => real.close(resolve)))
  // Safe: it listens on a port.
  const { port } = real.address() as AddressInfo
  const runtime = runtimeWith({ url: `http://127.0.0.1:${port}/moved`, preferBindingTransport: true, ...secrets })
  await runtime.run({ runId: "r", task: "x" })
  const tools: string[] = []
  for await (const record of runtime.events("r")) {
    if (record.type === "extensions")
      for (const each of record.extensions) tools.push(...each.tools.map(({ name }) => name))
  }
  expect(tools).toContain("mcp__there__book")
  expect(new Set(keys)).toEqual(new Set(["key-of-the-server-1"]))
})
