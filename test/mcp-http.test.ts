import { readFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { mcpClients, type ServedHttp } from "./support/mcp-clients.ts"
import { countLiving, isRunning, uniqueSleep } from "./support/shell-scene.ts"
import { until } from "./support/watchdog.ts"

const { place, serveHttp, connectHttp, longhaul } = mcpClients()

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}

/** Done manually, since `fetch` would not send another Host. */
function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const all = { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers }
    const request = httpRequest(url, { method: "POST", headers: all }, (response) => {
      resolve(response.statusCode)
      // The server may answer before it has read the body: what is still written ends with the connection.
      response.destroy()
    })
    request.on("error", reject)
    request.end(body)
  })
}

function statusOf({ url, token }: ServedHttp, headers: Readonly<Record<string, string>> = {}, body?: string) {
  const authorization = `Bearer ${token}`
  return post(url, { authorization, ...headers }, body ?? JSON.stringify(initialize))
}

describe("MCP over HTTP", () => {
  test("the server accepts requests with the token and its own host name, and no others", async () => {
    const server = await serveHttp()
    const { port } = new URL(server.url)
    expect(await statusOf(server)).toBe(200)
    for (const authorization of ["", "Bearer", "Bearer wrong", `Bearer ${server.token}x`, `Basic ${server.token}`]) {
      expect([authorization, await statusOf(server, { authorization })]).toEqual([authorization, 401])
    }
    expect(await statusOf(server, { host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200)
    for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1.evil.example", "10.0.0.1"]) {
      expect([host, await statusOf(server, { host })]).toEqual([host, 403])
    }
    for (const origin of ["http://evil.example", "null", "file://", "http://127.0.0.1.evil.example"]) {
      expect([origin, await statusOf(server, { origin })]).toEqual([origin, 403])
    }
  })

  test("the server rejects a body that is too large before reading it all, and keeps running", async () => {
    const server = await serveHttp()
    const large = JSON.stringify({ ...initialize, padding: "x".repeat(11 * 1024 * 1024) })
    expect(await statusOf(server, {}, large)).toBe(413)
    expect(await statusOf(server, { "transfer-encoding": "chunked" }, large)).toBe(413)
    expect(await statusOf(server, { authorization: "Bearer wrong" }, large)).toBe(401)
    expect(await statusOf(server, {}, "no JSON")).toBe(400)
    expect(await statusOf(server)).toBe(200)
  })

  test("the server has no path other than /mcp and no session that was not opened", async () => {
    const server = await serveHttp()
    const elsewhere = { ...server, url: new URL("/", server.url).href }
    expect(await statusOf(elsewhere)).toBe(404)
    const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" })
    expect(await statusOf(server, {}, list)).toBe(400)
    expect(await statusOf(server, { "mcp-session-id": "unknown" }, list)).toBe(404)
  })

  test("the server supports clients of both protocol revisions at once", async () => {
    const server = await serveHttp()
    const one = await connectHttp(server, "2025-11-25")
    const other = await connectHttp(server, "2026-07-28")
    // Each waits for the other: sequentially they would never end.
    const meet = (mine: string, theirs: string) =>
      `touch ${mine}; until [ -e ${theirs} ]; do sleep 0.05; done; echo met`
    const results = await Promise.all([
      one.callTool({ name: "Bash", arguments: { command: meet("a", "b") } }),
      other.callTool({ name: "Bash", arguments: { command: meet("b", "a") } }),
    ])
    for (const { content } of results) expect(content[0]).toMatchObject({ text: expect.stringContaining("met\n") })
    await one.callTool({ name: "Write", arguments: { path: "tide.txt", content: "ebb" } })
    expect(readFileSync(join(place.workspace, "tide.txt"), "utf8")).toBe("ebb")
  })

  test.each(["SIGINT", "SIGTERM"] as const)(
    "the server exits with 0 on %s, even in the middle of a call",
    async (signal) => {
      const server = await serveHttp()
      const client = await connectHttp(server, "2025-11-25")
      const sleeps = [uniqueSleep(), uniqueSleep()]
      const [background = "", foreground = ""] = sleeps
      await client.callTool({ name: "Bash", arguments: { command: background, background: true } })
      const call = client.callTool({ name: "Bash", arguments: { command: foreground } }).catch(() => "broken off")
      await until(() => sleeps.every(isRunning))
      server.child.kill(signal)
      expect((await server.ended).code).toBe(0)
      expect(sleeps.map(countLiving)).toEqual([0, 0])
      await client.close()
      expect(await call).toBe("broken off")
    },
  )

  test("the server takes its token from the environment and does not print it", async () => {
    const token = "a-token-of-our-own-choice"
    const server = await serveHttp([], { LONGHAUL_MCP_TOKEN: token })
    expect(server.shown.stdout).not.toContain(token)
    expect([await statusOf({ ...server, token: "" }), await statusOf({ ...server, token })]).toEqual([401, 200])
    const { code, stderr } = await longhaul(["mcp", "--http"], { LONGHAUL_MCP_TOKEN: "short" })
    expect([code, stderr]).toEqual([1, expect.stringContaining("LONGHAUL_MCP_TOKEN is not a valid token")])
  })

  test("the server requires the token and a name of this machine beyond loopback too", async () => {
    const server = await serveHttp(["--host", "0.0.0.0"])
    const here = { ...server, url: server.url.replace("0.0.0.0", "127.0.0.1") }
    await until(() => server.shown.stderr.includes("reachable from other machines"))
    expect([await statusOf(here), await statusOf({ ...here, token: "" })]).toEqual([200, 401])
    expect(await statusOf(here, { host: "evil.example" })).toBe(403)
  })

  test("the server reports a port that cannot be used", async () => {
    const { port } = new URL((await serveHttp()).url)
    const { code, stderr } = await longhaul(["mcp", "--http", "--port", port])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Cannot listen on 127.0.0.1:${port}`)])
  })
})
