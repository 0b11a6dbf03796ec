import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, afterEach, expect, test, vi } from "vitest"
import { countLiving, isRunning, uniqueSleep } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"
import { createAgentTools } from "../agent-tools.ts"
import { createMcpHandler, type McpHttpOptions, serveMcpHttp } from "./http.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-mcp-")))
vi.stubEnv("LONGHAUL_STORE", `${root}-state`)
const token = "token"
const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close()
})
afterAll(() => {
  for (const folder of [root, `${root}-state`]) rmSync(folder, { recursive: true, force: true })
})

async function served(options: Partial<McpHttpOptions> = {}): Promise<string> {
  const tools = createAgentTools({ root })
  const server = await serveMcpHttp(tools, { version: "1", token, ...options })
  closing.push(tools, server)
  return server.url
}

async function connected(url: string, protocol = "2025-11-25") {
  const isNew = protocol === "2026-07-28"
  const options = isNew ? { versionNegotiation: { mode: { pin: protocol } } } : {}
  const client = new Client({ name: "test", version: "1" }, options)
  closing.push(client)
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return client
}

const headers = {
  authorization: `Bearer ${token}`,
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
}

const opening = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

/** A session whose requests are written manually, so that nothing of it stays open. */
async function handSession(url: string) {
  const post = (message: object, more: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(url, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      ...(signal && { signal }),
    })
  const opened = await post(opening)
  await opened.text()
  const id = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
  return {
    status: opened.status,
    ask: async (method: string, params: object = {}, signal?: AbortSignal) =>
      post({ id: method, method, params }, id, signal),
    end: () => fetch(url, { method: "DELETE", headers: { ...headers, ...id } }),
  }
}

test("a session beyond the limit replaces an idle one, never an active one", async () => {
  const url = await served({ maxSessions: 2 })
  const atWork = await connected(url)
  const sleep = uniqueSleep()
  const call = atWork.callTool({ name: "Bash", arguments: { command: sleep } }).catch(() => "ended")
  await until(() => isRunning(sleep))
  const idle = await handSession(url)
  expect((await idle.ask("tools/list")).status).toBe(200)
  const next = await handSession(url)
  expect((await idle.ask("tools/list")).status).toBe(404)
  expect(isRunning(sleep)).toBe(true)

  const leaving = new AbortController()
  await next.ask("tools/call", { name: "Bash", arguments: { command: `${sleep}1` } }, leaving.signal)
  await until(() => isRunning(`${sleep}1`))
  expect((await handSession(url)).status).toBe(503)
  leaving.abort()
  await atWork.close()
  await call
})

test("ending a session kills its commands", async () => {
  const session = await handSession(await served())
  const sleep = uniqueSleep()
  const call = await session.ask("tools/call", { name: "Bash", arguments: { command: sleep } })
  await until(() => isRunning(sleep))
  expect((await session.end()).status).toBe(200)
  await call.text()
  await until(() => countLiving(sleep) === 0)
  expect((await session.ask("tools/list")).status).toBe(404)
})

test("a session whose client disappeared ends after the idle time, with its commands", async () => {
  const session = await handSession(await served({ idleMs: 1000 }))
  const sleep = uniqueSleep()
  const leaving = new AbortController()
  await session.ask("tools/call", { name: "Bash", arguments: { command: sleep } }, leaving.signal)
  await until(() => isRunning(sleep))
  leaving.abort()
  await until(() => countLiving(sleep) === 0)
  expect((await session.ask("tools/list")).status).toBe(404)
})

test("a session with an open request is not idle, however long it takes", async () => {
  const session = await handSession(await served({ idleMs: 1000 }))
  const call = await session.ask("tools/call", { name: "Bash", arguments: { command: "sleep 2; echo over" } })
  // A request that ends in the meantime does not make it idle.
  await (await session.ask("tools/list")).text()
  expect(await call.text()).toContain("over\\n")
})

test("a sessionless client that disconnects leaves no command running", async () => {
  const client = await connected(await served(), "2026-07-28")
  const sleep = uniqueSleep()
  const call = client.callTool({ name: "Bash", arguments: { command: sleep } }).catch(() => "ended")
  await until(() => isRunning(sleep))
  await client.close()
  await until(() => countLiving(sleep) === 0)
  expect(await call).toBe("ended")
})

test("concurrent session requests do not exceed the limit", async () => {
  const tools = createAgentTools({ root })
  const handler = await createMcpHandler(tools, { version: "1", token, maxSessions: 3 })
  closing.push(tools, handler)
  const opened = await Promise.all(
    Array.from({ length: 12 }, () =>
      handler.fetch(
        new Request("http://localhost/mcp", {
          method: "POST",
          headers: { ...headers, host: "localhost" },
          body: JSON.stringify(opening),
        }),
      ),
    ),
  )
  expect(opened.filter(({ status }) => status === 200).length).toBe(3)
  expect(opened.filter(({ status }) => status === 503).length).toBe(9)
})

test("a server without a token is rejected", async () => {
  await expect(served({ token: "" })).rejects.toMatchObject({ code: "config_invalid", fix: "Pass `token`." })
})
