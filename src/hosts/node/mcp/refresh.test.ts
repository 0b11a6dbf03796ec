import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { serverFetch } from "../../../extensions/mcp/http-fetch.ts"
import { SavedLogin } from "../../../extensions/mcp/oauth.ts"
import { defaultBrand as brand } from "../../../lib/brand.ts"
import { fileTokens } from "./token-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-refresh-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const issuer = "https://as.example"
const place = { tenant: "acme", name: "scene", server: { url: "https://mcp.example/mcp" } }

/** An authorization server that accepts each refresh token once; one that is used again revokes the login, as real ones do. */
function rotating(first: string) {
  let valid = first
  const used: string[] = []
  const fetch = async (_: unknown, init: RequestInit = {}) => {
    const token = new URLSearchParams(String(init.body)).get("refresh_token") ?? ""
    used.push(token)
    await new Promise((resolve) => setImmediate(resolve))
    if (token !== valid) {
      valid = "revoked"
      return Response.json({ error: "invalid_grant" }, { status: 400 })
    }
    valid = `refresh-${used.length}`
    return Response.json({ access_token: `access-${used.length}`, token_type: "Bearer", refresh_token: valid })
  }
  return { fetch, used }
}

/** As in a process of its own: a login and a connection that share only the files. */
async function refreshed(folder: string, fetch: ReturnType<typeof rotating>["fetch"]): Promise<unknown> {
  const login = new SavedLogin({ ...place, tokens: fileTokens(folder), brand })
  const token = (await login.tokens({ issuer }))?.refresh_token ?? ""
  return async () => {
    const send = serverFetch(
      { url: place.server.url, seen() {}, refresh: (given, next) => login.refresh(given, next) },
      fetch,
    )
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: token })
    return (await send("https://as.example/token", { method: "POST", body })).json()
  }
}

test("four runs that refresh one login at once send one request, and all get its tokens", async () => {
  const folder = join(scratch, "parallel")
  const first = { access_token: "access-0", token_type: "Bearer", refresh_token: "refresh-0" }
  await new SavedLogin({ ...place, tokens: fileTokens(folder), brand }).saveTokens(first, { issuer })
  const { fetch, used } = rotating("refresh-0")
  const runs = await Promise.all(Array.from({ length: 4 }, () => refreshed(folder, fetch)))
  const got = await Promise.all(runs.map((run) => (run as () => Promise<object>)()))
  expect(used).toEqual(["refresh-0"])
  for (const tokens of got) expect(tokens).toMatchObject({ access_token: "access-1", refresh_token: "refresh-1" })
  expect(await new SavedLogin({ ...place, tokens: fileTokens(folder), brand }).tokens()).toMatchObject({
    access_token: "access-1",
  })
  expect(readdirSync(folder).filter((name) => name.endsWith(".lock"))).toEqual([])
})

test("the tokens of one issuer are never the answer for another", async () => {
  const folder = join(scratch, "issuers")
  const login = new SavedLogin({ ...place, tokens: fileTokens(folder), brand })
  await login.saveTokens({ access_token: "mine", token_type: "Bearer", refresh_token: "refresh-mine" }, { issuer })
  const answer = await login.refresh("refresh-of-another", async () => Response.json({ access_token: "theirs" }))
  expect(await answer.json()).toEqual({ access_token: "theirs" })
  expect(await login.tokens({ issuer })).toMatchObject({ access_token: "mine" })
})

test("a lock that a dead process left is removed", async () => {
  const folder = join(scratch, "stale")
  const tokens = fileTokens(folder)
  await tokens.write("k", "{}")
  writeFileSync(join(folder, "k.json.lock"), "")
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(join(folder, "k.json.lock"), longAgo, longAgo)
  expect(await tokens.exclusively("k", async () => "done")).toBe("done")
})
