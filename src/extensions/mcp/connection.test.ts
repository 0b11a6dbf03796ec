import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { TokenStore } from "../../contract/backend-env.ts"
import type { McpRemote } from "../../contract/mcp.ts"
import { defaultBrand as brand } from "../../lib/brand.ts"
import { type ConnectionOptions, ServerConnection } from "./connection.ts"

const address = "https://mcp.example/mcp"

/** A server as a function: the answer to each request. */
type Server = (request: { readonly url: URL; readonly message: Message; readonly headers: Headers }) => Response

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly protocolVersion?: string }
}

const refuse = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers })

/** What a server of the protocol answers, without sessions. */
function answered({ id, method, params }: Message): Response {
  if (method === "server/discover") return refuse(400)
  if (method === undefined) return refuse(405)
  if (id === undefined) return refuse(202)
  const result =
    method === "initialize"
      ? {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "scene", version: "1" },
        }
      : { tools: [{ name: "echo", inputSchema: { type: "object" } }] }
  return Response.json({ jsonrpc: "2.0", id, result })
}

function connectionTo(server: Server, more: Partial<ConnectionOptions> = {}) {
  const requests: string[] = []
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    const sent = new URL(String(url))
    const isJson = typeof init.body === "string" && sent.href === address
    const message: Message = isJson ? JSON.parse(String(init.body)) : {}
    requests.push(`${sent.pathname} ${message.method ?? ""}`.trim())
    return server({ url: sent, message, headers: new Headers(init.headers) })
  }
  const connection = new ServerConnection({
    name: "scene",
    server: { url: address },
    host: { brand },
    tenant: "t",
    runId: "r",
    cwd: "/",
    signal: new AbortController().signal,
    fetch,
    ...more,
  })
  return { connection, requests }
}

test.each([
  ["stream does not start", { type: "sse", url: address }],
  [
    "authorization server does not answer",
    { url: address, auth: { grant: "client-credentials", clientId: "c", clientSecret: "s" } },
  ],
] as const satisfies readonly (readonly [string, McpRemote])[])(
  "a server whose %s fails after the time in which a server has to come up",
  async (_, server) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => void vi.useRealTimers())
    let outcome: unknown
    await new Promise<void>((resolve) => {
      const fetch = async (url: string | URL | Request) => {
        if (String(url) === address && !("type" in server)) return refuse(401)
        resolve()
        return new Promise<never>(() => {})
      }
      const { connection } = connectionTo(() => refuse(500), { server, fetch })
      connection.connect().catch((error: unknown) => {
        outcome = error
      })
    })
    vi.advanceTimersByTime(60_000)
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(outcome).toMatchObject({ message: "It did not answer within 60000 ms" })
  },
)

describe("a connection that fails", () => {
  test("a connection that fails is tried anew by the next request, as often as it fails", async () => {
    let refusals = 3
    const { connection } = connectionTo(({ message }) =>
      message.method === "initialize" && refusals-- > 0 ? refuse(503) : answered(message),
    )
    for (let failed = 0; failed < 3; failed++) await expect(connection.tools()).rejects.toThrow("POSTing")
    expect(await connection.tools()).toMatchObject([{ name: "echo" }])
  })

  test("a connection whose program cannot be started is tried anew by the next request", async () => {
    let starts = 0
    const spawn = () => {
      starts++
      throw new Error("ENOENT")
    }
    const { connection } = connectionTo(() => refuse(500), { server: { command: "x" }, host: { brand, spawn } })
    for (const expected of [1, 2, 3]) {
      await expect(connection.tools()).rejects.toThrow("ENOENT")
      expect(starts).toBe(expected)
    }
  })

  test("a connection that fails is shared by requests at the same time, and fails for all of them", async () => {
    const { connection, requests } = connectionTo(({ message }) =>
      message.method === "initialize" ? refuse(503) : answered(message),
    )
    const results = await Promise.allSettled([connection.tools(), connection.tools(), connection.connect()])
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"])
    expect(requests.filter((request) => request.endsWith("initialize"))).toHaveLength(1)
  })
})

describe("a server that asks for a login again and again", () => {
  /** Issues tokens that the MCP server never accepts. */
  const greedy =
    (isRefused: (message: Message) => boolean): Server =>
    ({ url, message, headers }) => {
      const { pathname } = url
      if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
        return Response.json({ resource: address, authorization_servers: [url.origin] })
      }
      if (pathname.startsWith("/.well-known/")) {
        return Response.json({
          issuer: url.origin,
          authorization_endpoint: `${url.origin}/authorize`,
          token_endpoint: `${url.origin}/token`,
          registration_endpoint: `${url.origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
        })
      }
      if (pathname === "/register") {
        return Response.json({ client_id: "c", redirect_uris: ["http://127.0.0.1/callback"] }, { status: 201 })
      }
      if (pathname === "/token") return Response.json({ access_token: "a".repeat(20), token_type: "Bearer" })
      if (headers.has("authorization") && !isRefused(message)) return answered(message)
      return refuse(401, {
        "www-authenticate": `Bearer resource_metadata="${url.origin}/.well-known/oauth-protected-resource"`,
      })
    }

  const tokens = (): TokenStore => {
    const files = new Map<string, string>()
    return {
      read: async (key) => files.get(key),
      write: async (key, value) => void files.set(key, value),
      delete: async (key) => void files.delete(key),
      exclusively: (_, work) => work(),
    }
  }

  test.each<[string, (message: Message) => boolean]>([
    ["whenever it is connected to", () => true],
    ["for each request", ({ method }) => method === "tools/call"],
  ])("%s gets two logins of a person, and then an error", async (_, isRefused) => {
    let logins = 0
    const page = {
      redirectUrl: "http://127.0.0.1/callback",
      open() {},
      async returned(state: string) {
        logins++
        return new URLSearchParams({ code: "code", state, iss: "https://mcp.example" })
      },
    }
    const { connection } = connectionTo(greedy(isRefused), { host: { brand, tokens: tokens() }, page })
    const call = () => connection.callTool("echo", {}, { signal: new AbortController().signal, progress() {} })
    for (let attempt = 0; attempt < 3; attempt++) await expect(call()).rejects.toThrow()
    expect(logins).toBe(2)
  })
})
