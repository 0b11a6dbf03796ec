import { describe, expect, test } from "vitest"
import type { Json } from "../src/contract/json.ts"
import type { ApiService } from "../src/extensions/api/index.ts"
import { nodeFetch } from "../src/hosts/node/index.ts"
import { openApi, openOne, senders, serveApi } from "./support/api-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"

countAttacks("calls of services with forged paths, headers, methods and targets")

const get = (path: string, more: object = {}) => ({ service: "s", method: "GET", path, ...more })
const ways = Object.entries(senders)

const paths: readonly string[] = [
  "/widgets/../admin",
  "/widgets/..",
  "/widgets/./../admin",
  "/widgets/%2e%2e/admin",
  "/widgets/%2E%2E/admin",
  "/widgets/.%2e/admin",
  "/widgets/%2e./admin",
  "/widgets/..%2fadmin",
  "/widgets%2f..%2fadmin",
  "/widgets/%2fadmin",
  "/widgets/%252e%252e/admin",
  "/widgets/%252fadmin",
  "/widgets/%25252e%25252e/admin",
  "/widgets/%c0%ae%c0%ae/admin",
  "/widgets/..;/admin",
  "/widgets/..;a=b/admin",
  "/widgets/%2e%2e%3b/admin",
  "/widgets/．．/admin",
  "/widgets/%ef%bc%8e%ef%bc%8e/admin",
  "/widgets／..／admin",
  "/widgets/..\\admin",
  "/widgets\\..\\admin",
  "/widgets/%5c..%5cadmin",
  "\\admin",
  "//evil.example/widgets/1",
  "///evil.example/widgets/1",
  "/\\evil.example/widgets/1",
  "/widgets//1",
  "//widgets/1",
  "http://evil.example/widgets/1",
  "https:/evil.example/widgets/1",
  "https://evil.example",
  "HTTP://evil.example/widgets/1",
  "javascript:alert(1)",
  "file:///etc/passwd",
  "@evil.example/widgets/1",
  ":80@evil.example/widgets/1",
  ".evil.example/widgets/1",
  "/widgets/1?admin=1",
  "/widgets/1#/admin",
  "/admin?/widgets/1",
  "/admin#/widgets/1",
  "?/widgets/1",
  "#/widgets/1",
  "/widgets/1%00/admin",
  "/widgets/1\0",
  "/widgets/1\r\nHost: evil.example",
  "/widgets/1%0d%0aHost:%20evil.example",
  "/widgets/1 HTTP/1.1",
  "/widgets/%",
  "/widgets/%zz",
  "/widgets/\ud800",
  "/admin",
  "/admin/widgets/1",
  "/x/widgets/1",
  "/widgets/1/admin",
  "/widgets/1\n",
  "\n/widgets/1",
  " /widgets/1",
  "",
  "/",
  "widgets/1",
  `/widgets/${"a".repeat(3000)}`,
]

describe.each(ways)("a path outside allowedPaths (sent by %s)", { tags: ["API-07"] }, (_, env) => {
  test.each(paths.map((path) => [JSON.stringify(path).slice(0, 60), path]))(
    "%s reaches no server",
    async (_name, path) => {
      const { url, requests } = await serveApi()
      // Without anchors, and with flags that keep state: both must not matter.
      const { call } = await openOne({ baseUrl: `${url}/v1`, allowedPaths: [/\/widgets\/\w+/g] }, {}, { env })
      for (let time = 0; time < 2; time++) {
        const { status, text } = await call(get(path))
        expect([status, requests.length]).toEqual(["error", 0])
        expect(text).toMatch(/"code":"(?:denied|invalid_input)"/)
      }
      // The same service takes what it allows, each time.
      for (let time = 0; time < 3; time++) expect((await call(get("/widgets/1"))).status).toBe("ok")
      expect(requests.map((request) => request.url)).toEqual(Array(3).fill("/v1/widgets/1"))
    },
  )
})

test.each([
  "/a/..;/admin",
  "/a/..;x=1/admin",
  "/a/%2e%2e;/admin",
  "/a/ ../admin",
  "/a/%20../admin",
  "/a/%E2%80%A5/admin",
  "/a/%EF%BC%8E%EF%BC%8E/admin",
  "/a/%252e%252e/admin",
  "/a/%252fadmin",
  "/a/%25252e",
])(
  "the path %s, which some servers read as another one, is not sent even where every path is allowed",
  async (path) => {
    const { url, requests } = await serveApi()
    const { call } = await openOne({ baseUrl: url })
    expect((await call(get(path))).text).toContain("invalid_input")
    expect(requests).toEqual([])
  },
)

test.each([
  ["an escaped letter", "/%61dmin", "/admin"],
  ["another case of an escape", "/%61dmi%6E", "/admin"],
])("a path with %s is matched as a server reads it", async (_, path) => {
  const { url, requests } = await serveApi()
  const { call } = await openOne({ baseUrl: url, allowedPaths: [/^\/(?!admin).*/] })
  expect((await call(get(path))).text).toContain("does not allow the path /admin")
  expect(requests).toEqual([])
})

const names: readonly (readonly [string, string])[] = [
  ["AUTHORIZATION", "Bearer forged"],
  ["Authorization", "forged"],
  ["aUtHoRiZaTiOn", "forged"],
  ["Proxy-Authorization", "forged"],
  ["proxy-connection", "forged"],
  ["Cookie", "session=forged"],
  ["cookie2", "forged"],
  ["Set-Cookie", "forged"],
  ["Host", "forged.example"],
  ["HOST", "forged.example"],
  ["Transfer-Encoding", "forged"],
  ["Content-Length", "9999"],
  ["Content-Encoding", "forged"],
  ["Connection", "forged"],
  ["Expect", "forged"],
  ["Upgrade", "forged"],
  ["TE", "forged"],
  ["X-HTTP-Method-Override", "DELETE-forged"],
  ["x-http-method", "DELETE-forged"],
  ["X-Method-Override", "DELETE-forged"],
  ["X_HTTP_METHOD_OVERRIDE", "DELETE-forged"],
  ["X-Original-URL", "/forged"],
  ["X-Rewrite-Url", "/forged"],
  ["X-Forwarded-For", "forged"],
  ["X-Forwarded-Host", "forged"],
  ["Forwarded", "for=forged"],
  ["X-Service-Key", "forged"],
  ["x-service-key", "forged"],
  ["X_SERVICE_KEY", "forged"],
  ["X-Tenant", "forged"],
  ["x_tenant", "forged"],
  ["Idempotency-Key", "forged"],
  ["idempotency_key", "forged"],
  ["X-Api-Key", "forged"],
  ["api-key", "forged"],
  ["Private-Token", "forged"],
  ["X-Auth-Token", "forged"],
  ["Sec-Fetch-Site", "forged"],
]
const malformed: readonly (readonly [string, Json])[] = [
  ["authorization ", "forged"],
  ["authorization\t", "forged"],
  [" authorization", "forged"],
  ["authorization:", "forged"],
  ["authorization\r\nx", "forged"],
  ["x\r\nauthorization", "forged"],
  ["x-ok\0", "forged"],
  ["", "forged"],
  [":authority", "forged"],
  ["аuthorization", "forged"],
  ["x-ok", "a\r\nauthorization: forged"],
  ["x-ok", "a\nauthorization: forged"],
  ["x-ok", "a\rauthorization: forged"],
  ["x-ok", "a\0forged"],
  ["x-ok", "forged ȍ"],
  ["x-ok", ["forged", "forged"]],
  ["x-ok", { forged: "forged" }],
]

const guardedService = (baseUrl: string): ApiService => ({
  baseUrl,
  auth: { type: "header", name: "X-Service-Key", valueRef: "KEY" },
  headers: { "X-Tenant": "tenant-of-the-host" },
  allowedMethods: ["GET", "POST"],
  idempotencyHeader: "Idempotency-Key",
})
const secret = { env: { KEY: "the-real-service-key" } }

describe.each(ways)("a header of the model (sent by %s)", { tags: ["API-09"] }, (_, env) => {
  test.each(names)("%s is not sent", async (name, value) => {
    const { url, requests } = await serveApi()
    const { call } = await openOne(guardedService(url), secret, { env })
    for (const headers of [{ [name]: value }, { [name]: value, [name.toLowerCase()]: value, "x-trace": "1" }]) {
      const { status, text } = await call({ service: "s", method: "POST", path: "/w", headers, body: { a: 1 } })
      expect([status, text.includes(`not sent: ${name}`)]).toEqual(["ok", true])
    }
    expect(requests.length).toBe(2)
    for (const request of requests) {
      expect(JSON.stringify(request)).not.toContain("forged")
      expect(request).toMatchObject({ method: "POST", url: "/w", body: '{"a":1}' })
      expect(request.headers).toMatchObject({
        "x-service-key": "the-real-service-key",
        "x-tenant": "tenant-of-the-host",
        "idempotency-key": "key-1",
      })
      const sent = request.names.map((each) => each.toLowerCase().replaceAll("_", "-"))
      expect(sent.length).toBe(new Set(sent).size)
    }
    expect(requests[1]?.headers["x-trace"]).toBe("1")
  })

  test.each(malformed)("%j with the value %j fails the call before anything is sent", async (name, value) => {
    const { url, requests } = await serveApi()
    const { call } = await openOne(guardedService(url), secret, { env })
    const { status, text } = await call(get("/w", { headers: { [name]: value } }))
    expect([status, requests.length]).toEqual(["error", 0])
    expect(text).toContain("invalid_input")
  })

  test("a header of the model that is given twice fails the call", async () => {
    const { url, requests } = await serveApi()
    const { call } = await openOne(guardedService(url), secret, { env })
    expect((await call(get("/w", { headers: { "X-Trace": "a", "x-trace": "b" } }))).text).toContain("given twice")
    expect(requests).toEqual([])
  })
})

describe("a method that the service does not allow", () => {
  const calls: readonly (readonly [string, object])[] = [
    ["named", { method: "DELETE" }],
    ["in lower case", { method: "delete" }],
    ["unknown", { method: "TRACE" }],
    ["a tunnel", { method: "CONNECT" }],
    ["with a line break", { method: "GET /admin HTTP/1.1\r\nx: " }],
    ["in the query", { method: "POST", query: { _method: "DELETE" } }],
    ["in the query, in upper case", { method: "POST", query: { _METHOD: "DELETE" } }],
    ["in the query as a header's name", { method: "POST", query: { "X-HTTP-Method-Override": "DELETE" } }],
    ["in the body", { method: "POST", body: { _method: "DELETE" } }],
  ]
  test.each(calls)("%s is not sent", async (_, args) => {
    const { url, requests } = await serveApi()
    const { call } = await openOne({ baseUrl: url, allowedMethods: ["GET", "POST"] })
    const { status, text } = await call({ service: "s", path: "/w", ...args })
    expect([status, requests.length]).toEqual(["error", 0])
    expect(text).toMatch(/denied|invalid_input/)
  })

  test("a method that the service does not allow is not sent, although another service allows it", async () => {
    const { url, requests } = await serveApi()
    const services = { s: { baseUrl: url }, other: { baseUrl: url, allowedMethods: ["DELETE"] } } as const
    const { call } = await openApi({ services })
    const { text } = await call({ service: "s", method: "DELETE", path: "/w" })
    expect([text.includes("denied"), requests.length]).toEqual([true, 0])
  })

  test("a method that the service does not allow is not sent inside a form", async () => {
    const { url, requests } = await serveApi()
    const { call } = await openOne({ baseUrl: url, allowedMethods: ["POST"], bodyEncoding: "raw" })
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const { text } = await call({ service: "s", method: "POST", path: "/w", headers, body: "a=1&%5fmethod=DELETE" })
    expect([text.includes("denied"), requests.length]).toEqual([true, 0])
  })
})

describe.each(ways)("a redirect (sent by %s)", (_, env) => {
  test.each([
    ["another origin", (port: number) => `http://127.0.0.1:${port}/stolen`],
    ["the metadata address", () => "http://169.254.169.254/latest/meta-data/"],
    ["another path of the service", () => "/admin"],
    ["a path that leaves the base", () => "../../admin"],
  ])("a redirect to %s is returned and not followed, so that no secret leaves", async (_name, location) => {
    const elsewhere = await serveApi()
    const { url, requests } = await serveApi((_request, response) => {
      response.writeHead(307, { location: location(elsewhere.port) }).end()
    })
    const { call } = await openOne({ ...guardedService(url), allowedPaths: [/\/w/] }, secret, { env })
    for (const method of ["GET", "POST"]) {
      const { text } = await call({ service: "s", method, path: "/w" })
      expect(text).toContain("HTTP 307")
    }
    expect([requests.length, elsewhere.requests.length]).toEqual([2, 0])
  })
})

describe("a service whose public name resolves to a private address", () => {
  const rebound = { fetch: nodeFetch({ resolve: async () => ["127.0.0.1"] }) }

  test("a service whose public name resolves to a private address gets nothing, because a name may be rebound", async () => {
    const { port, requests } = await serveApi()
    const service = { baseUrl: `http://api.example.com:${port}`, allowedMethods: ["POST"] as const }
    const { call } = await openOne(service, {}, { env: rebound })
    const { status, text } = await call({ service: "s", method: "POST", path: "/w" })
    // Not in doubt: nothing was sent.
    expect([status, text.includes("denied"), requests.length]).toEqual(["error", true, 0])
  })

  test("a service whose public name resolves to a private address is called if the host allows it", async () => {
    const { port, requests } = await serveApi()
    const { call } = await openOne(
      { baseUrl: `http://api.example.com:${port}`, allowPrivate: true },
      {},
      { env: rebound },
    )
    expect((await call(get("/w"))).status).toBe("ok")
    expect(requests[0]?.headers.host).toBe(`api.example.com:${port}`)
  })
})
