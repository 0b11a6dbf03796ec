import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import { policyCall } from "../../test/support/policy-scene.ts"
import type { GuardedFetch } from "../contract/env.ts"
import type { PolicyDocument } from "../contract/policy.ts"
import { nodeFetch } from "../hosts/node/http/guarded-fetch.ts"
import { admitRedirects } from "./admit-redirects.ts"
import { compileRules } from "./rules/compile-rules.ts"

const requested: string[] = []
const server = createServer((request, response) => {
  requested.push(request.url ?? "")
  const target = new URL(request.url ?? "", "http://x").searchParams.get("to")
  if (target === null) response.end("SENTINEL")
  else response.writeHead(302, { location: target }).end()
})
let base: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // Safe: it listens on a port.
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

async function fetchPage(
  document: PolicyDocument,
  path: string,
  fetch: GuardedFetch = nodeFetch({ allow: ["127.0.0.1"] }),
) {
  requested.length = 0
  const url = base + path
  const call = policyCall("WebFetch", { url })
  const rules = await compileRules([{ document, source: "test" }])
  const { verdict } = await rules.decide(call)
  expect(verdict).not.toBe("deny")
  const env = admitRedirects({ fetch }, rules, call, verdict)
  const { signal } = new AbortController()
  const body = await env.fetch?.get(url, { signal, maxBytes: 1000, timeoutMs: 5000 })
  return new TextDecoder().decode(body?.bytes)
}

const allowOpen = (): PolicyDocument => ({
  default: "deny",
  rules: [{ allow: { tool: "WebFetch", url: [`${base}/open/**`] } }],
})

test("a redirect from an allowed URL to one that is not allowed is not requested", async () => {
  for (const path of ["/open/a?to=/closed", "/open/a?to=/open/..%252fclosed", "/open/a?to=/open/b?to=/closed"]) {
    await expect(fetchPage(allowOpen(), path)).rejects.toThrow(/^The policy does not allow the redirect to /)
    const paths = requested.map((each) => each.split("?", 1)[0] ?? "")
    expect(paths.filter((each) => !/^\/open\/[ab]$/.test(each))).toEqual([])
  }
})

test("a redirect to an allowed URL is followed", async () => {
  expect(await fetchPage(allowOpen(), "/open/a?to=/open/b")).toBe("SENTINEL")
})

test("a redirect to a denied URL is not requested, whatever allowed the first one", async () => {
  const rules = [{ deny: { tool: "WebFetch", url: `${base}/closed/**` } }]
  await expect(fetchPage({ rules }, "/a?to=/closed/b")).rejects.toThrow("does not allow the redirect")
  expect(requested).toHaveLength(1)
  expect(await fetchPage({ rules }, "/a?to=/b")).toBe("SENTINEL")
})

test("an approval is for one host: a redirect to another host that would be asked is not requested", async () => {
  expect(await fetchPage({ default: "ask" }, "/a?to=/b")).toBe("SENTINEL")
  await expect(fetchPage({ default: "ask" }, `/a?to=${base.replace("127.0.0.1", "localhost")}/b`)).rejects.toThrow(
    "does not allow the redirect",
  )
  expect(requested).toHaveLength(1)
})

test("a page is withheld if the environment followed a redirect on its own", async () => {
  const bytes = new TextEncoder().encode("SENTINEL")
  const answer = async () => ({
    url: `${base}/closed`,
    status: 200,
    contentType: "text/plain",
    bytes,
    truncated: false,
  })
  await expect(fetchPage(allowOpen(), "/open/a", { get: answer, post: answer })).rejects.toThrow(
    "does not allow the redirect",
  )
})
