import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { describe, expect, test } from "vitest"
import type { Json } from "../src/contract/json.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { type ApiAuth, type ApiService, api } from "../src/extensions/api/index.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { openApi, openOne, senders, serveApi } from "./support/api-scene.ts"

const ways = Object.entries(senders)
const get = (path = "/w", more: object = {}) => ({ service: "s", method: "GET", path, ...more })
const post = (body: Json, more: object = {}) => ({ service: "s", method: "POST", path: "/w", body, ...more })
const calling = (args: object) => ({ parts: [{ toolCall: { name: "ApiCall", args: { ...args } } }] })

async function unusedAddress(): Promise<string> {
  const server = createServer()
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo // Safe: a listening TCP server has such an address.
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** A run that notes which tools and which prompt its model gets. */
async function offered(config: RuntimeConfig, input: object = {}, steps: readonly ScriptedStep[] = []) {
  const seen: { tools: string[]; system: string; descriptions: string }[] = []
  const look: ScriptedStep = (_, setup) => {
    const descriptions = JSON.stringify(setup.tools)
    seen.push({ tools: setup.tools.map(({ name }) => name), system: setup.system ?? "", descriptions })
    return steps[0] && typeof steps[0] !== "function" ? steps[0] : "ok"
  }
  const model = scriptedModel([look, ...(steps.length > 0 ? ["done"] : [])])
  const runtime = createRuntime({ model, store: memoryStore(), tools: [], ...config })
  const result = await runtime.run({ task: "x", ...input })
  await runtime.close()
  return { ...seen[0], result }
}

describe("ApiCall", () => {
  test("ApiCall is there if services are configured; without any, neither tool nor prompt mentions it", {
    tags: ["API-01"],
  }, async () => {
    const { tools, descriptions } = await offered({
      extensions: [api({ services: { weather: { baseUrl: "https://w.example", description: "Forecasts" } } })],
    })
    expect(tools).toContain("ApiCall")
    expect(descriptions).toContain("weather: Forecasts (GET, HEAD; any path)")
    for (const extensions of [[], [api({ services: {} })]]) {
      const without = await offered({ extensions })
      expect(without.tools).not.toContain("ApiCall")
      expect(`${without.system}${without.descriptions}`).not.toMatch(/ApiCall|ApiSearch|web service/)
    }
  })

  test("ApiCall takes only the configured services, as a closed list", { tags: ["API-02"] }, async () => {
    const { url, requests } = await serveApi()
    const { call, tools } = await openApi({ services: { a: { baseUrl: url }, b: { baseUrl: url } } })
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { service: { enum: ["a", "b"] } } })
    for (const service of ["c", "A", "", "__proto__", "constructor", 1, null, ["a"]]) {
      expect((await call({ service, method: "GET", path: "/w" })).text).toContain("invalid_input")
    }
    expect(requests).toEqual([])
  })

  test("ApiCall can be replaced for one run, and disabled", { tags: ["API-13"] }, async () => {
    const mine = await serveApi()
    const theirs = await serveApi()
    const of = (url: string, token: string) =>
      api({
        services: { s: { baseUrl: url, auth: { type: "bearer", tokenRef: "T" } } },
        env: { T: token },
      })
    const config = { extensions: [of(mine.url, "token-of-the-runtime")] }
    await offered(config, { extensions: [of(theirs.url, "token-of-a-tenant")] }, [calling(get())])
    expect(mine.requests).toEqual([])
    expect(theirs.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-of-a-tenant"])
    await offered(config, {}, [calling(get())])
    expect(mine.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-of-the-runtime"])
    for (const input of [{ disabledTools: ["ApiCall"] }, { allowedTools: [] }]) {
      const { tools, system, descriptions } = await offered(config, input)
      expect(tools).not.toContain("ApiCall")
      expect(`${system}${descriptions}`).not.toContain("ApiCall")
    }
  })

  test("a policy sees the address of a call, also with a path that a service spells otherwise", async () => {
    const { url, requests } = await serveApi()
    const policy = {
      rules: [
        { allow: { tool: "ApiCall", url: `${url}/open/**` } },
        { deny: { tool: "ApiCall", url: `${url}/open/secret/**` }, reason: "Not that." },
      ],
      default: "deny" as const,
    }
    const config = { extensions: [api({ services: { s: { baseUrl: `${url}/open` } } })], policy }
    const statuses = []
    for (const path of ["/1", "/secret/1", "/s%65cret/1", "/SECRET/1"]) {
      const { result } = await offered(config, {}, [calling(get(path))])
      statuses.push(result.toolCalls.map(({ status }) => status))
    }
    expect(statuses).toEqual([["ok"], ["denied"], ["denied"], ["denied"]])
    expect(requests.map((request) => request.url)).toEqual(["/open/1"])
  })

  test("a policy's changes apply to arguments; a changed address fails the call", async () => {
    const { url, requests } = await serveApi()
    const run = async (set: Record<string, Json>) => {
      const policy = { rules: [{ allow: { tool: "ApiCall" }, set }] }
      const config = { extensions: [api({ services: { s: { baseUrl: url } } })], policy }
      return (await offered(config, {}, [calling(get())])).result.toolCalls.map(({ status }) => status)
    }
    expect(await run({ "/path": "/other" })).toEqual(["ok"])
    expect(await run({ "/url": "https://evil.example/" })).toEqual(["error"])
    expect(requests.map((request) => request.url)).toEqual(["/other"])
  })
})

describe.each(ways)("a call (sent by %s)", (_, env) => {
  const auths: readonly (readonly [string, ApiAuth, Record<string, string>])[] = [
    ["none", { type: "none" }, {}],
    ["bearer", { type: "bearer", tokenRef: "TOKEN" }, { authorization: "Bearer value-of-token" }],
    ["header", { type: "header", name: "X-Key", valueRef: "TOKEN" }, { "x-key": "value-of-token" }],
    [
      "basic",
      { type: "basic", userRef: "USER", passRef: "PASS" },
      { authorization: `Basic ${Buffer.from("jörg:value-of-päss").toString("base64")}` },
    ],
    ["custom", { type: "custom", id: "signer" }, { "x-signed": "signer s GET /w", "x-second": "2" }],
  ]
  test.each(auths)(
    "a call authenticates by %s",
    { tags: ["API-03", "API-04", "API-05"] },
    async (_name, auth, expected) => {
      const { url, requests } = await serveApi()
      const { call } = await openOne(
        { baseUrl: url, auth },
        {
          env: { TOKEN: () => "value-of-token\n", USER: "jörg" },
          resolveAuth: async ({ id }, { serviceName, method, path }) => ({
            "X-Signed": `${id} ${serviceName} ${method} ${path}`,
            "x-second": "2",
          }),
        },
        { env, variables: { PASS: "value-of-päss", TOKEN: "never" } },
      )
      expect((await call(get())).status).toBe("ok")
      const { authorization, "x-key": key, "x-signed": signed, "x-second": second } = requests[0]?.headers ?? {}
      const sent = { authorization, "x-key": key, "x-signed": signed, "x-second": second }
      expect(JSON.parse(JSON.stringify(sent))).toEqual(expected)
    },
  )

  test("a secret is looked up for each call, and one that is not set is reported by name only", {
    tags: ["API-04"],
  }, async () => {
    const { url, requests } = await serveApi()
    let count = 0
    const auth: ApiAuth = { type: "bearer", tokenRef: "T" }
    const { call } = await openOne({ baseUrl: url, auth }, { env: { T: () => `token-number-${++count}` } }, { env })
    await call(get())
    await call(get())
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer token-number-1",
      "Bearer token-number-2",
    ])
    const failing: (() => string)[] = [
      () => "",
      () => "two\nlines-of-secret",
      () => {
        throw new Error("secret-in-message")
      },
    ]
    for (const T of [...failing, undefined]) {
      const { call: broken, warnings } = await openOne({ baseUrl: url, auth }, T ? { env: { T } } : {}, { env })
      const { text } = await broken(get())
      expect(text).toMatch(/"denied".*(?:secret T|authentication bearer)/)
      expect(text).not.toMatch(/lines-of-secret|secret-in-message/)
      expect(warnings.length).toBe(T ? 0 : 1)
    }
    expect(requests.length).toBe(2)
  })

  test("a body over the limit is not sent, in both encodings; a response is cut", { tags: ["API-08"] }, async () => {
    const { url, requests } = await serveApi((request, response) => {
      response.end("ü".repeat(Number(new URL(request.url, url).searchParams.get("n") ?? 0)))
    })
    const service: ApiService = {
      baseUrl: url,
      allowedMethods: ["GET", "POST"],
      maxBodyBytes: 20,
      maxResponseBytes: 21,
    }
    for (const bodyEncoding of ["json", "raw"] as const) {
      const { call } = await openOne({ ...service, bodyEncoding }, {}, { env })
      // Two bytes each, and quotes as JSON.
      const fits = bodyEncoding === "json" ? 9 : 10
      expect((await call(post("ü".repeat(fits)))).status).toBe("ok")
      expect((await call(post("ü".repeat(fits + 1)))).text).toContain("at most 20")
      const exact = await call(get("/w", { query: { n: 10 } }))
      expect(exact.text.endsWith("ü".repeat(10))).toBe(true)
      const cut = await call(get("/w", { query: { n: 11 } }))
      expect(cut.text).toContain(`\n${"ü".repeat(10)}\n[the response was cut at 21 bytes]`)
    }
    expect(requests.map(({ method }) => method).sort()).toEqual(["GET", "GET", "GET", "GET", "POST", "POST"])
  })

  test("an endless response ends at its limit, and a compressed one counts unpacked", async () => {
    const { gzipSync } = await import("node:zlib")
    const { url } = await serveApi((request, response) => {
      if (request.url === "/zip") {
        response.setHeader("content-encoding", "gzip")
        response.end(gzipSync(Buffer.alloc(5_000_000, "a")))
        return
      }
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
      }
      response.on("drain", more)
      more()
    })
    const { call } = await openOne({ baseUrl: url, maxResponseBytes: 1000 }, {}, { env })
    for (const path of ["/zip", "/endless"]) expect((await call(get(path))).text).toContain("cut at 1000 bytes")
  })

  test("a raw body is sent unchanged, as the type that the model names or as plain text", {
    tags: ["API-11"],
  }, async () => {
    const { url, requests } = await serveApi()
    const { call } = await openOne({ baseUrl: url, allowedMethods: ["POST"], bodyEncoding: "raw" }, {}, { env })
    const text = ' {"a": 1}\r\n é \u2028'
    await call(post(text))
    await call(post(text, { headers: { "Content-Type": "application/xml" } }))
    expect(requests.map(({ body }) => body)).toEqual([text, text])
    expect(requests.map(({ headers }) => headers["content-type"])).toEqual([
      "text/plain; charset=utf-8",
      "application/xml",
    ])
  })

  test.each([[{ a: 1 }], [[1]], [1], [true], [null]])(
    "a raw body %j is rejected without a request",
    { tags: ["API-12", "FAIL-27"] },
    async (body) => {
      const { url, requests } = await serveApi()
      const resolved: string[] = []
      const T = () => {
        resolved.push("T")
        return "token-of-the-service"
      }
      const service: ApiService = {
        baseUrl: url,
        allowedMethods: ["POST"],
        bodyEncoding: "raw",
        auth: { type: "bearer", tokenRef: "T" },
      }
      const { call } = await openOne(service, { env: { T } }, { env })
      const { status, text } = await call(post(body))
      expect([status, JSON.parse(text).error.code]).toEqual(["error", "invalid_input"])
      expect([requests.length, resolved.length]).toEqual([0, 0])
    },
  )

  test("observers get each call and its response, without the query; their failures are no concern", {
    tags: ["API-10"],
  }, async () => {
    const { url } = await serveApi((_request, response) => response.writeHead(201).end("12345"))
    const seen: object[] = []
    const { call } = await openOne(
      { baseUrl: url, allowedMethods: ["POST"], auth: { type: "bearer", tokenRef: "T" } },
      {
        env: { T: "token-of-the-service" },
        onRequest: (request) => {
          seen.push(request)
          throw new Error("x")
        },
        onResponse: (response) => {
          seen.push(response)
          throw new Error("x")
        },
      },
      { env },
    )
    expect((await call(post({}, { path: "/token-of-the-service", query: { q: "1" } }))).status).toBe("ok")
    const call1 = { service: "s", method: "POST", path: "/[secret]" }
    expect(seen).toEqual([call1, { ...call1, status: 201, latencyMs: expect.any(Number), bytesIn: 5 }])
  })

  test("a query is encoded; JSON bodies are sent as JSON; HEAD has no body", async () => {
    const { url, requests } = await serveApi((_request, response) => response.setHeader("etag", '"7"').end("body"))
    const { call } = await openOne({ baseUrl: `${url}/v1/`, allowedMethods: ["HEAD", "PATCH"] }, {}, { env })
    const query = { q: "a b&c=d#e", list: [1, "2"], on: true, none: null }
    const head = await call({ service: "s", method: "HEAD", path: "/a%20b/@me:x", query })
    expect(head.text).toBe('HTTP 200\netag: "7"')
    await call({
      service: "s",
      method: "PATCH",
      path: "/w/",
      body: [1],
      headers: { "content-type": "application/merge-patch+json" },
    })
    expect(requests.map((request) => request.url)).toEqual([
      "/v1/a%20b/@me:x?q=a+b%26c%3Dd%23e&list=1&list=2&on=true",
      "/v1/w/",
    ])
    expect(requests[1]).toMatchObject({ body: "[1]", headers: { "content-type": "application/merge-patch+json" } })
    expect((await call({ service: "s", method: "HEAD", path: "/w", body: {} })).text).toContain("has no body")
  })

  test.each([
    [404, "GET", "error", "not_found"],
    [401, "POST", "error", "denied"],
    [409, "POST", "error", "conflict"],
    [422, "POST", "error", "invalid_input"],
    [429, "POST", "error", "io"],
    [500, "GET", "error", "io"],
    [500, "POST", "unknown", "outcome_unknown"],
    [502, "DELETE", "unknown", "outcome_unknown"],
  ])("the status %i of a %s is %s with the code %s", async (status, method, expected, code) => {
    const { url } = await serveApi((_request, response) => response.writeHead(status).end("the reason"))
    const { call } = await openOne({ baseUrl: url, allowedMethods: ["GET", "POST", "DELETE"] }, {}, { env })
    const outcome = await call({ service: "s", method, path: "/w" })
    expect([outcome.status, JSON.parse(outcome.text).error.code]).toEqual([expected, code])
    expect(outcome.text).toContain("the reason")
  })

  test("a connection that is cut before the response leaves the outcome of a POST unknown, and fails a GET", async () => {
    const { url, requests } = await serveApi((_request, response) => response.destroy())
    const { call } = await openOne({ baseUrl: url, allowedMethods: ["GET", "POST"] }, {}, { env })
    expect(await call(post({}))).toMatchObject({ status: "unknown", text: expect.stringContaining("outcome_unknown") })
    expect(await call(get())).toMatchObject({ status: "error", text: expect.stringContaining('"io"') })
    expect(requests.length).toBe(2)
  })

  test("a service that is not there has not been called: a POST fails without doubt", async () => {
    const { call } = await openOne({ baseUrl: await unusedAddress(), allowedMethods: ["POST"] }, {}, { env })
    expect(await call(post({}))).toMatchObject({ status: "error", text: expect.stringContaining("ECONNREFUSED") })
  })

  test("a service that does not answer in time leaves a POST unknown", async () => {
    const { url } = await serveApi(() => {})
    const service: ApiService = { baseUrl: url, allowedMethods: ["GET", "POST"], timeoutMs: 100 }
    const { call } = await openOne(service, {}, { env })
    expect((await call(post({}))).status).toBe("unknown")
    expect(await call(get())).toMatchObject({ status: "error", text: expect.stringContaining("timeout") })
  })

  test("bytes that are not text are described", async () => {
    const { url } = await serveApi((_request, response) => response.end(Buffer.from([0xff, 0xd8, 0, 1])))
    const { call } = await openOne({ baseUrl: url }, {}, { env })
    expect((await call(get())).text).toContain("[4 bytes that are not text]")
  })
})

describe("the effect of a call", () => {
  const service: ApiService = {
    baseUrl: "http://127.0.0.1:1",
    allowedMethods: ["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"],
  }
  test.each([
    ["without a key", {}, ["none", "none", "repeatable", "repeatable", "once", "once"], "once"],
    [
      "with a key",
      { idempotencyHeader: "Idempotency-Key" },
      ["none", "none", "repeatable", "repeatable", "repeatable", "repeatable"],
      "repeatable",
    ],
  ])("the effect of a call depends on its method, %s", async (_, more, effects, strictest) => {
    const { tools } = await openOne({ ...service, ...more })
    const [tool] = tools
    const found = service.allowedMethods?.map((method) => tool?.effectOf?.({ service: "s", method, path: "/" }))
    expect([found, tool?.effect]).toEqual([effects, strictest])
  })

  test("the effect of a call is none for a tool whose services only read", async () => {
    const { tools } = await openOne({ baseUrl: "https://w.example" })
    expect(tools[0]).toMatchObject({ effect: "none" })
  })
})

test.each([
  ["a relative address", { baseUrl: "/v1" }],
  ["a file address", { baseUrl: "file:///etc" }],
  ["an address with a user", { baseUrl: "https://u:p@x.example" }],
  ["an address with a query", { baseUrl: "https://x.example?key=1" }],
  ["an unknown method", { baseUrl: "https://x.example", allowedMethods: ["TRACE"] }],
  ["a path that is a text", { baseUrl: "https://x.example", allowedPaths: ["/w"] }],
  ["an unknown authentication", { baseUrl: "https://x.example", auth: { type: "digest" } }],
  ["a secret in place of its name", { baseUrl: "https://x.example", auth: { type: "bearer", token: "x" } }],
  ["a custom authentication without resolveAuth", { baseUrl: "https://x.example", auth: { type: "custom", id: "x" } }],
  ["a header that cannot be sent", { baseUrl: "https://x.example", headers: { "a b": "x" } }],
  ["a header's value of two lines", { baseUrl: "https://x.example", headers: { a: "x\ny" } }],
  ["a misspelt setting", { baseUrl: "https://x.example", allowedPath: [] }],
  ["no bytes", { baseUrl: "https://x.example", maxBodyBytes: 0 }],
])("a service with %s is config_invalid", (_, service) => {
  expect(() => api({ services: { s: service as ApiService } })).toThrow(
    expect.objectContaining({ code: "config_invalid" }),
  )
})
