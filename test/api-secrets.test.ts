import { describe, expect, test } from "vitest"
import { type ApiService, api } from "../src/extensions/api/index.ts"
import { cleanups, expectNoLeak, scene } from "./secrets/scene.ts"
import { declared, known, partsIn, type Sentinel } from "./secrets/sentinels.ts"
import { openOne, serveApi } from "./support/api-scene.ts"

interface Kept {
  readonly sentinel: Sentinel
  /** The service and its options, with the sentinel in them. */
  readonly service: Partial<ApiService>
  readonly options?: Omit<Parameters<typeof api>[0], "services">
}

/** Counts up, so that no value is known when the run begins. */
const changing = (values: readonly string[]) => {
  let count = 0
  return () => values[Math.min(count++, values.length - 1)] ?? ""
}

const kinds: Readonly<Record<string, (value: string) => Omit<Kept, "sentinel">>> = {
  "a bearer token": (value) => ({
    service: { auth: { type: "bearer", tokenRef: "T" } },
    options: { env: { T: value } },
  }),
  "a header's value": (value) => ({
    service: { auth: { type: "header", name: "X-Key", valueRef: "T" } },
    options: { env: { T: () => value } },
  }),
  "a password": (value) => ({
    service: { auth: { type: "basic", userRef: "U", passRef: "P" } },
    options: { env: { U: "someone", P: value } },
  }),
  "a fixed header": (value) => ({ service: { headers: { "X-Fixed-Token": value } } }),
  "a token that only the third call gets": (value) => ({
    service: { auth: { type: "bearer", tokenRef: "T" } },
    // Asked for once when the run begins, and then by each call.
    options: { env: { T: changing(["first-token-1111", "first-token-1111", "second-token-2222", value]) } },
  }),
  "a header of resolveAuth": (value) => ({
    service: { auth: { type: "custom", id: "signer" } },
    options: { resolveAuth: () => ({ "X-Signature": value }) },
  }),
  "a bearer token of resolveAuth": (value) => ({
    service: { auth: { type: "custom", id: "signer" } },
    options: { resolveAuth: async () => ({ authorization: `Bearer ${value}` }) },
  }),
  "a field of a header of resolveAuth": (value) => ({
    service: { auth: { type: "custom", id: "signer" } },
    options: { resolveAuth: async () => ({ authorization: `Token user="someone", token="${value}"` }) },
  }),
}
const values = ["service-secret-91c4e7a2", 'quoted "secret"/with\\é&<=+> 5']

const kept = Object.entries(kinds).flatMap(([kind, of]) =>
  // A field with quotes would be several.
  (kind.startsWith("a field") ? values.slice(0, 1) : values).map((value): [string, Kept] => [
    `${kind} (${value})`,
    { sentinel: known(kind, value), ...of(value) },
  ]),
)

test.each(kept)(
  "%s appears in no journal, event, log, hook, webhook, prompt or result, whatever the service echoes",
  { tags: ["API-06"] },
  async (_, { sentinel, service, options }) => {
    const echo = sentinel.sent.map((spelling) => `<${spelling}>`).join(" and ")
    const observed: unknown[] = []
    const { url, requests } = await serveApi((request, response) => {
      if (request.url === "/cut") return void response.destroy()
      const status =
        request.url === "/fail" ? 400 : request.url === "/moved" ? 302 : request.url === "/broken" ? 500 : 200
      // Only what a header can contain.
      const header = sentinel.sent.filter((spelling) => /^[\x20-\x7e]*$/.test(spelling)).join(" ")
      response.writeHead(status, { location: `/x?${encodeURIComponent(header)}`, etag: header, link: header })
      // Also where the response is cut, and where the result is.
      response.end(
        request.url === "/long" ? `${"y".repeat(990)}${sentinel.value}` : `${echo}${"long ".repeat(50)}${echo}`,
      )
    })
    const extension = api({
      services: {
        s: { baseUrl: url, allowedMethods: ["GET", "POST"], ...service },
        short: { baseUrl: url, maxResponseBytes: 1000, ...service },
      },
      ...options,
      onRequest: (seen) => observed.push(seen),
      onResponse: (seen) => observed.push(seen),
    })
    const call = (path: string, more: object = {}) => ({
      toolCall: { name: "ApiCall", args: { service: "s", method: "GET", path, ...more } },
    })
    const paths = ["/a", "/b", "/ok", "/fail", "/moved", "/broken", "/cut"]
    const steps = [
      ...paths.map((path) => ({ parts: [call(path)] })),
      { parts: [call("/long", { service: "short" })] },
      { parts: [call("/broken", { method: "POST", body: {} }), call("/cut", { method: "POST" })] },
      { parts: [call("/refused", { headers: { Authorization: "x", "bad name": "x" } })] },
      "done",
    ]
    const { runtime, sinks } = await scene(steps, { extensions: [extension], policy: { mode: "auto" } })
    cleanups.push(() => runtime.close())
    const result = await runtime.run({ runId: "r", task: "Call." })
    sinks.results.push(result, observed)
    expect(result.status).toBe("done")
    expect(result.toolCalls.map(({ status }) => status).slice(0, 4)).toEqual(["ok", "ok", "ok", "error"])
    // The service did get it.
    const sent = JSON.stringify(requests.map(({ headers }) => headers))
    const basic = Buffer.from(`someone:${sentinel.value}`).toString("base64")
    const latin = Buffer.from(sentinel.value, "utf8").toString("latin1")
    const forms = [sentinel.value, latin].map((form) => JSON.stringify(form).slice(1, -1))
    expect([...forms, basic].some((form) => sent.includes(form))).toBe(true)
    expectNoLeak(sentinel, sinks)
  },
)

describe("a response that is cut within a secret", () => {
  const secret = "late/4f7a19c3+e8b25d60ff=="
  const spellings = { plain: secret, base64: btoa(secret), url: encodeURIComponent(secret) }
  /** The service is asked with a secret that nobody knows before the call. */
  const late: Readonly<Record<string, Pick<Kept, "service" | "options">>> = {
    "that a function returns": {
      service: { auth: { type: "bearer", tokenRef: "KEY" } },
      options: { env: { KEY: () => secret } },
    },
    "that resolveAuth returns": {
      service: { auth: { type: "custom", id: "x" } },
      options: { resolveAuth: () => ({ "x-key": secret }) },
    },
  }
  const cases = Object.entries(late).flatMap(([kind, given]) =>
    Object.entries(spellings).map(([name, spelling]) => [kind, name, spelling, given] as const),
  )

  test.each(cases)(
    "%s (%s) shows no part of it, wherever the cut is",
    async (_, __, spelling, { service, options }) => {
      const { url } = await serveApi((_, response) => void response.end(`${"words,".repeat(10)}${spelling} and more`))
      for (let inside = 0; inside <= spelling.length + 1; inside++) {
        const maxResponseBytes = 60 + inside
        const { call } = await openOne({ baseUrl: url, maxResponseBytes, ...service }, { ...options })
        const { status, text } = await call({ service: "s", method: "GET", path: "/" })
        expect([status, text]).toEqual([
          "ok",
          expect.stringContaining(`[the response was cut at ${maxResponseBytes} bytes]`),
        ])
        expect([inside, partsIn(text, spelling)]).toEqual([inside, []])
      }
    },
  )

  test("a cut response and the start of a long failure show no part of a declared secret", async () => {
    const declaredSecret = declared.PLAIN?.value ?? ""
    let inside = 0
    const { url } = await serveApi((_, response) => {
      response.writeHead(400)
      response.end(`${"words ".repeat(2000).slice(0, 8000 - inside)}${declaredSecret} ${"words ".repeat(2000)}`)
    })
    const extension = api({ services: { s: { baseUrl: url } } })
    const cuts = Array.from({ length: declaredSecret.length + 1 }, (_, index) => index)
    const args = { service: "s", method: "GET", path: "/" }
    const step = (at: number) => () => {
      inside = at
      return { parts: [{ toolCall: { name: "ApiCall", args } }] }
    }
    const { runtime } = await scene([...cuts.map(step), "done"], { extensions: [extension], policy: { mode: "auto" } })
    const result = await runtime.run({ runId: "r", task: "Call." })
    expect(result.toolCalls).toHaveLength(cuts.length)
    for (const [index, { status, result: output }] of result.toolCalls.entries()) {
      expect([index, status, partsIn(JSON.stringify(output), declaredSecret)]).toEqual([index, "error", []])
    }
  })
})
