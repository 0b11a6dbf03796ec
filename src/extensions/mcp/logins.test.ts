import { describe, expect, test } from "vitest"
import type { TokenStore } from "../../contract/backend-env.ts"
import type { McpRemote } from "../../contract/mcp.ts"
import { defaultBrand as brand } from "../../lib/brand.ts"
import { serverFetch } from "./http-fetch.ts"
import { authProviderOf, loginKey, SavedLogin } from "./oauth.ts"

const server: McpRemote = { url: "https://mcp.example/mcp" }
const place = { tenant: "acme", name: "scene", server }

function tokensInMemory(): TokenStore & { readonly files: Map<string, string> } {
  const files = new Map<string, string>()
  return {
    files,
    read: async (key) => files.get(key),
    write: async (key, value) => void files.set(key, value),
    delete: async (key) => void files.delete(key),
    exclusively: (_, work) => work(),
  }
}

const token = { access_token: "a".repeat(20), token_type: "Bearer" }

describe("a saved login", () => {
  test.each([
    ["another tenant", { ...place, tenant: "other" }],
    ["another address", { ...place, server: { url: "https://evil.example/mcp" } }],
    ["another name", { ...place, name: "other" }],
  ])("a saved login is not used for %s", async (_, elsewhere) => {
    const tokens = tokensInMemory()
    await new SavedLogin({ ...place, tokens, brand }).saveTokens(token, { issuer: "https://as.example" })
    expect(await new SavedLogin({ ...place, tokens, brand }).tokens()).toMatchObject(token)
    expect(await new SavedLogin({ ...elsewhere, tokens, brand }).tokens()).toBeUndefined()
    expect(loginKey(elsewhere)).not.toBe(loginKey(place))
  })

  test("a saved login gives the tokens and the client of one issuer to no other one", async () => {
    const tokens = tokensInMemory()
    const login = new SavedLogin({ ...place, tokens, brand })
    await login.saveClientInformation({ client_id: "c" }, { issuer: "https://as.example" })
    await login.saveTokens(token, { issuer: "https://as.example" })
    const other = { issuer: "https://evil.example" }
    expect([await login.tokens(other), await login.clientInformation(other)]).toEqual([undefined, undefined])
  })

  test("a saved login that was revoked has no tokens, and the error names the command to log in", async () => {
    const tokens = tokensInMemory()
    const login = new SavedLogin({ ...place, tokens, brand })
    await login.saveTokens(token)
    await login.invalidateCredentials("tokens")
    expect(await login.tokens()).toBeUndefined()
    await expect(login.redirectToAuthorization(new URL("https://as.example"))).rejects.toMatchObject({
      code: "auth",
      fix: expect.stringContaining("longhaul mcp login scene"),
    })
  })

  test("a saved login needs a person for more rights, and asks for them at the next login, whatever was refreshed meanwhile", async () => {
    const tokens = tokensInMemory()
    const login = new SavedLogin({ ...place, tokens, brand })
    await login.saveTokens({ ...token, scope: "mcp", refresh_token: "r" })
    const challenge = { "www-authenticate": 'Bearer error="insufficient_scope", scope="files:write \u00e9vil"' }
    await expect(login.refused(new Response(null, { status: 403, headers: challenge }))).rejects.toMatchObject({
      ...{ code: "auth", fix: "Run `longhaul mcp login scene`, which asks for: mcp files:write." },
    })
    await login.saveTokens({ ...token, scope: "mcp" })
    expect(await login.wanted()).toBe("mcp files:write")
    const page = { redirectUrl: "http://127.0.0.1/callback", open() {}, returned: async () => new URLSearchParams() }
    await new SavedLogin({ ...place, tokens, brand, page }).saveTokens({ ...token, scope: "mcp files:write" })
    expect(await login.wanted()).toBeUndefined()
  })

  test("a login that does not exist is needed at once; one that can be refreshed is tried, and other refusals are the server's own", async () => {
    const login = new SavedLogin({ ...place, tokens: tokensInMemory(), brand })
    const status = (code: number) => login.refused(new Response(null, { status: code }))
    await expect(status(401)).rejects.toMatchObject({ code: "auth" })
    await expect(status(403)).resolves.toBeUndefined()
    await login.saveTokens({ ...token, refresh_token: "r" })
    await expect(status(401)).resolves.toBeUndefined()
  })

  test("a saved login has a state of its own for each attempt", () => {
    const login = new SavedLogin({ ...place, tokens: tokensInMemory(), brand })
    expect(login.state()).not.toBe(login.state())
  })

  test.each<[string, Partial<McpRemote>]>([
    ["an authorization header", { headers: { Authorization: "Bearer own" } }],
    ["a provider of headers", { headersProvider: () => ({}) }],
  ])("a saved login is not used by a server with %s of its own", async (_, own) => {
    const host = { tokens: tokensInMemory(), brand }
    expect(await authProviderOf(place, host)).toBeInstanceOf(SavedLogin)
    expect(await authProviderOf({ ...place, server: { ...server, ...own } }, host)).toBeUndefined()
  })
})

describe("the requests of a connection", () => {
  function sender(options: Partial<McpRemote>, statuses: readonly number[] = [200]) {
    const sent: { readonly url: string; readonly headers: Readonly<Record<string, string>> }[] = []
    const left = [...statuses]
    const fetch = serverFetch({ ...server, ...options, seen: () => {} }, async (url, init) => {
      sent.push({ url: String(url), headers: Object.fromEntries(new Headers(init?.headers)) })
      return new Response(null, { status: left.shift() ?? 200 })
    })
    return { fetch, sent }
  }

  test("requests have the server's headers at its own origin, and nowhere else", async () => {
    const options = { headers: { "x-key": "secret" }, headersProvider: () => ({ "x-provided": "secret" }) }
    const { fetch, sent } = sender(options)
    for (const url of ["https://mcp.example/other", "https://as.example/token", "https://mcp.example:8443/mcp"])
      await fetch(url)
    await fetch("http://mcp.example/mcp")
    expect(sent.map(({ headers }) => headers)).toEqual([{ "x-key": "secret", "x-provided": "secret" }, {}, {}, {}])
  })

  test("requests that the server refused are looked at by the login, those of other origins are not", async () => {
    const seen: number[] = []
    const refused = async ({ status }: Response) => void seen.push(status)
    const fetch = serverFetch({ ...server, seen: () => {}, refused }, async () => new Response(null, { status: 403 }))
    await fetch("https://as.example/token")
    await fetch(server.url)
    expect(seen).toEqual([403])
  })

  test("requests are sent once more after a 401, with what the provider returns then, and not a third time", async () => {
    let asked = 0
    const headersProvider = () => ({ authorization: `Bearer ${++asked}` })
    const { fetch, sent } = sender({ headersProvider }, [401, 401, 200])
    expect((await fetch(server.url)).status).toBe(401)
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(["Bearer 1", "Bearer 2"])
    await expect(sender({}, [401]).fetch(server.url)).resolves.toMatchObject({ status: 401 })
  })
})
