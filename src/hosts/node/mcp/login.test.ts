import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { loopbackPage } from "./login-page.ts"
import { fileTokens } from "./token-store.ts"

const root = mkdtempSync(join(tmpdir(), "longhaul-login-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test("tokens are in files that only their user can read, whatever a key contains", async () => {
  const folder = join(root, "tokens")
  const tokens = fileTokens(folder)
  await tokens.write("../../a b", "one")
  await tokens.write("../../a b", "two")
  expect(await tokens.read("../../a b")).toBe("two")
  const [name = "", ...others] = readdirSync(folder)
  expect(others).toEqual([])
  expect([statSync(join(folder, name)).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700])
  await tokens.delete("../../a b")
  expect(await tokens.read("../../a b")).toBeUndefined()
})

test("a login ends with the redirect that has its state, by GET, once", async () => {
  const page = await loopbackPage(() => {}, new AbortController().signal)
  try {
    page.open(new URL("https://as.example/authorize?state=right"))
    const statuses: number[] = []
    const visit = async (query: string, method = "GET", path = page.redirectUrl) =>
      statuses.push((await fetch(`${path}?${query}`, { method })).status)
    await visit("state=wrong&code=evil")
    await visit("code=evil")
    await visit("state=right&code=evil", "POST")
    await visit("state=right&code=evil", "GET", `${page.redirectUrl}/other`)
    await visit("state=right&code=good")
    await visit("state=right&code=evil")
    expect(statuses).toEqual([400, 404, 404, 404, 200, 400])
    expect((await page.returned("right")).get("code")).toBe("good")
  } finally {
    await page.close()
  }
})

test("a login that was refused is one error, which repeats nothing of the redirect but its code", async () => {
  for (const [error, shown] of [
    ["access_denied", "access_denied"],
    ["<script>", "an error"],
  ]) {
    const page = await loopbackPage(() => {}, new AbortController().signal)
    page.open(new URL("https://as.example/authorize?state=s"))
    const query = new URLSearchParams({ state: "s", error: error ?? "", error_description: "evil text" })
    await fetch(`${page.redirectUrl}?${query}`)
    await expect(page.returned("s")).rejects.toMatchObject({
      code: "auth",
      message: `The login was refused (${shown}).`,
    })
    await page.close()
  }
})

test("the redirect can have a fixed port, for servers that know its exact address", async () => {
  const any = await loopbackPage(() => {}, new AbortController().signal)
  const port = Number(new URL(any.redirectUrl).port)
  await any.close()
  const page = await loopbackPage(() => {}, new AbortController().signal, { port })
  expect(page.redirectUrl).toBe(`http://127.0.0.1:${port}/callback`)
  await page.close()
})
