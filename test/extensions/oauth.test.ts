import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { McpRemote } from "../../src/contract/mcp.ts"
import { ServerConnection } from "../../src/extensions/mcp/connection.ts"
import { mcp } from "../../src/extensions/mcp/index.ts"
import { loopbackPage } from "../../src/hosts/node/mcp/login-page.ts"
import { fileTokens } from "../../src/hosts/node/mcp/token-store.ts"
import { createRuntime } from "../../src/index.ts"
import { defaultBrand } from "../../src/lib/brand.ts"
import { scriptedModel } from "../../src/testing/index.ts"
import { serveScene } from "../mcp-client/http-server.mjs"
import { type AuthorizationServer, authorizationServer, logIn } from "./authorization-server.mjs"

let folder = ""
const toClose: (() => Promise<unknown>)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "longhaul-oauth-"))
})

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

/** An MCP server that accepts only tokens which the authorization server issued for it. */
async function protectedServer(server: AuthorizationServer, issuer = server.issuer) {
  let needed: string | undefined
  let used = ""
  const asked: string[] = []
  let origin = ""
  const served = await serveScene({
    stateless: true,
    async guard({ url = "", headers }) {
      asked.push(url)
      if (url.startsWith("/.well-known/oauth-protected-resource")) {
        const body = JSON.stringify({
          resource: `${origin}/mcp`,
          authorization_servers: [issuer],
          scopes_supported: ["mcp"],
        })
        return { status: 200, headers: { "content-type": "application/json" }, body }
      }
      const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? ""
      if (token !== "" && (await server.isValid(token, `${origin}/mcp`))) {
        used = token
        if (needed !== undefined && !(await server.scopesOf(token)).includes(needed)) {
          const more = `Bearer error="insufficient_scope", scope="${needed}"`
          return { status: 403, headers: { "www-authenticate": more } }
        }
        return undefined
      }
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
      return { status: 401, headers: { "www-authenticate": challenge } }
    },
  })
  origin = new URL(served.url).origin
  toClose.push(() => served.close())
  const require = (scope: string) => {
    needed = scope
  }
  return { server: { url: served.url } satisfies McpRemote, usedToken: () => used, asked, require }
}

async function scene() {
  const server = await authorizationServer()
  toClose.push(() => server.close())
  return server
}

const tokens = () => fileTokens(folder)
const signal = new AbortController().signal

async function connection(server: McpRemote, follow?: (url: URL) => Promise<unknown>, tenant = "default") {
  const failures: unknown[] = []
  const page =
    follow &&
    (await loopbackPage((url) => {
      follow(url).catch((error) => failures.push(error))
    }, signal))
  if (page) toClose.push(() => page.close())
  const host = { brand: defaultBrand, tokens: tokens() }
  const made = new ServerConnection({
    name: "guarded",
    server,
    host,
    tenant,
    runId: "r",
    cwd: "/",
    signal,
    ...(page && { page }),
  })
  toClose.push(() => made.close())
  return { made, page, failures }
}

const browser = async (url: URL) => fetch(await logIn(url))

/** A run with the server; it needs a login that exists. */
function runWith(server: McpRemote) {
  const steps = [{ parts: [{ toolCall: { name: "mcp__guarded__echo", args: { text: "hi" } } }] }, "done"]
  const runtime = createRuntime({ model: scriptedModel(steps), extensions: [mcp({ servers: { guarded: server } })] })
  return runtime.run({ task: "x" })
}

describe("a login at a real authorization server", () => {
  test("a login registers the client, returns to the loopback address with PKCE, and is stored for this user only", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    const { made } = await connection(guarded, browser)
    expect((await made.tools()).length).toBeGreaterThan(3)
    expect(server.grants).toEqual(["authorization_code"])
    const [file = ""] = readdirSync(folder)
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(join(folder, file), "utf8"))).toMatchObject({ issuer: server.issuer })

    const later = await connection(guarded)
    expect((await later.made.tools()).length).toBeGreaterThan(3)
    expect(server.grants).toEqual(["authorization_code"])
  })

  test("a login is refreshed once its access token has expired, without a person", async () => {
    const server = await scene()
    const { server: guarded, usedToken } = await protectedServer(server)
    await (await connection(guarded, browser)).made.tools()
    await server.expire(usedToken())
    const later = await connection(guarded)
    expect((await later.made.tools()).length).toBeGreaterThan(3)
    expect(server.grants).toEqual(["authorization_code", "refresh_token"])
  })

  test("a login that was revoked makes the server unavailable, and the error names the login command", async () => {
    const server = await scene()
    const { server: guarded, usedToken } = await protectedServer(server)
    await (await connection(guarded, browser)).made.tools()
    const token = usedToken()
    await server.revokeAll(token)
    const later = await connection(guarded)
    await expect(later.made.tools()).rejects.toMatchObject({
      code: "auth",
      fix: expect.stringContaining("longhaul mcp login guarded"),
    })
    const result = await runWith(guarded)
    expect(result).toMatchObject({ status: "done", warnings: [{ code: "mcp_unavailable" }] })
    expect(JSON.stringify(result)).not.toContain(token)
  })

  test("a login is not begun where nobody can log in: the server gets one request, the authorization server none", async () => {
    const server = await scene()
    const { server: guarded, asked } = await protectedServer(server)
    await expect((await connection(guarded)).made.tools()).rejects.toMatchObject({
      code: "auth",
      fix: expect.stringContaining("longhaul mcp login guarded"),
    })
    expect([asked, server.headersSeen]).toEqual([["/mcp"], []])
  })

  test("a login asks for the rights that the server wanted of a run, and for those that it had", async () => {
    const server = await scene()
    const guarded = await protectedServer(server)
    await (await connection(guarded.server, browser)).made.tools()
    expect(await server.scopesOf(guarded.usedToken())).toEqual(["mcp"])
    guarded.require("files:write")
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect((await connection(guarded.server)).made.tools()).rejects.toMatchObject({
        ...{ code: "auth", message: "The MCP server guarded needs a login with more rights." },
        fix: "Run `longhaul mcp login guarded`, which asks for: mcp files:write.",
      })
    }
    await (await connection(guarded.server, browser)).made.tools()
    expect((await server.scopesOf(guarded.usedToken())).toSorted()).toEqual(["files:write", "mcp"])
    expect((await (await connection(guarded.server)).made.tools()).length).toBeGreaterThan(3)
    expect(server.grants).toEqual(["authorization_code", "authorization_code"])
  })

  test("a login asks for more rights at once if the server wants them while the person is there", async () => {
    const server = await scene()
    const guarded = await protectedServer(server)
    guarded.require("files:write")
    expect((await (await connection(guarded.server, browser)).made.tools()).length).toBeGreaterThan(3)
    expect((await server.scopesOf(guarded.usedToken())).toSorted()).toEqual(["files:write", "mcp"])
  })

  test("a login whose redirect names another issuer is refused, and no code is redeemed", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    const { made } = await connection(guarded, async (url) => {
      const back = await logIn(url)
      back.searchParams.set("iss", "https://evil.example")
      await fetch(back)
    })
    await expect(made.tools()).rejects.toThrow(/issuer/i)
    expect(server.grants).toEqual([])
  })

  test("a login at a server whose metadata names another issuer is refused before anybody is asked", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server, `${server.issuer}/other`)
    let asked = 0
    const { made } = await connection(guarded, async () => {
      asked++
    })
    await expect(made.tools()).rejects.toThrow()
    expect(asked).toBe(0)
    expect(server.grants).toEqual([])
  })

  test("a login ignores redirects with another state, on other paths and by other methods, and goes on", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    const statuses: number[] = []
    const { made } = await connection(guarded, async (url) => {
      const redirect = new URL(url.searchParams.get("redirect_uri") ?? "")
      const attack = async (path: string, init?: RequestInit) => {
        statuses.push((await fetch(new URL(path, redirect), init)).status)
      }
      await attack("/callback?code=stolen&state=guess")
      await attack("/callback?code=stolen")
      await attack("/callback?code=stolen&state=")
      await attack(`/other?code=stolen&state=${url.searchParams.get("state")}`)
      await attack(`/callback?code=stolen&state=${url.searchParams.get("state")}`, { method: "POST" })
      await browser(url)
    })
    expect((await made.tools()).length).toBeGreaterThan(3)
    expect(statuses).toEqual([400, 404, 400, 404, 404])
    expect(server.grants).toEqual(["authorization_code"])
  })

  test("a login that the person refuses fails, and nothing is stored", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    const { made } = await connection(guarded, async (url) => fetch(await logIn(url, { agrees: false })))
    await expect(made.tools()).rejects.toThrow()
    expect(server.grants).toEqual([])
  })

  test("a login of one tenant is not used for another one at the same server", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    await (await connection(guarded, browser, "acme")).made.tools()
    await expect((await connection(guarded, undefined, "acme-2")).made.tools()).rejects.toMatchObject({ code: "auth" })
    expect((await (await connection(guarded, undefined, "acme")).made.tools()).length).toBeGreaterThan(3)
  })

  test("a login sends the headers of the MCP server to no authorization server", async () => {
    const server = await scene()
    const { server: guarded } = await protectedServer(server)
    const { made } = await connection({ ...guarded, headers: { "x-api-key": "key-of-the-server" } }, browser)
    await made.tools()
    expect(server.headersSeen.filter((headers) => "x-api-key" in headers)).toEqual([])
    expect(server.headersSeen.length).toBeGreaterThan(2)
  })

  test("a login of one server is not sent to another one of the same name", async () => {
    const server = await scene()
    const first = await protectedServer(server)
    await (await connection(first.server, browser)).made.tools()
    const second = await protectedServer(server)
    await expect((await connection(second.server)).made.tools()).rejects.toMatchObject({ code: "auth" })
    expect(second.usedToken()).toBe("")
  })
})
