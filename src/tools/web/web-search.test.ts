import type { IncomingMessage, ServerResponse } from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { stopServers } from "../../../test/support/proxy-servers.ts"
import { startWeb } from "../../../test/support/web-servers.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { nodeFetch } from "../../hosts/node/http/guarded-fetch.ts"
import { brave, createDispatcher, duckDuckGo, type SearchEngine, searxng, tavily, webSearchTool } from "../index.ts"
import { createToolContext } from "../kernel/tool-context.ts"

afterEach(stopServers)

const fetch = nodeFetch({ allow: ["127.0.0.1"] })
const context = createToolContext({ env: { fetch } })

const call = (engine: SearchEngine, args: JsonObject, changed: Partial<ToolContext> = {}) =>
  createDispatcher([webSearchTool({ engine })]).callTool("WebSearch", args, { ...context, ...changed })

const search = (engine: SearchEngine, query = "longhaul & friends", limit = 8) =>
  engine.search(query, { limit, signal: context.signal, fetch })

interface Seen {
  readonly method: string | undefined
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** Responds like an engine, and records its requests. */
async function serverThat(answer: string | object, status = 200) {
  const seen: Seen[] = []
  const { url } = await startWeb(async (request, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x")
    let body = ""
    for await (const chunk of request) body += chunk
    const { method, headers } = request
    seen.push({ method, path: pathname, query: Object.fromEntries(searchParams), headers, body })
    const isHtml = typeof answer === "string"
    response.writeHead(status, { "content-type": isHtml ? "text/html" : "application/json" })
    response.end(isHtml ? answer : JSON.stringify(answer))
  })
  return { url, seen }
}

const duckPage = (
  results: string,
) => `<!DOCTYPE html><html><body><div class="serp__results"><div id="links" class="results">
  ${results}</div></div></body></html>`

const duckResult = (href: string, title: string, snippet: string) => `
  <div class="result results_links results_links_deep web-result ">
    <div class="links_main links_deep result__body">
      <h2 class="result__title"><a rel="nofollow" class="result__a" href="${href}">${title}</a></h2>
      <div class="result__extras"><a class="result__url" href="${href}">shown.example</a></div>
      ${snippet === "" ? "" : `<a class="result__snippet" href="${href}">${snippet}</a>`}
    </div></div>`

const counter = (url: string) => `//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&amp;rut=0123abc`

describe("WebSearch uses DuckDuckGo by default", { tags: ["TOOL-13"] }, () => {
  test("WebSearch is read-only and runs in parallel", () => {
    expect(webSearchTool()).toMatchObject({ name: "WebSearch", effect: "none", concurrent: true, risk: "low" })
  })

  test("WebSearch parses the result page without advertisements and click counters", async () => {
    const { url, seen } = await serverThat(
      duckPage(
        [
          duckResult("https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x", "Advertisement", "Buy"),
          duckResult(
            counter("https://one.example/a?b=c&d=e"),
            "One &amp; <b>only</b>",
            "The <b>first</b>\n  one &#x27;here&#x27;",
          ),
          duckResult("https://two.example/", "Two", ""),
          duckResult(counter("https://three.example/"), "Three", "Third"),
        ].join("\n"),
      ),
    )
    expect(await search(duckDuckGo({ baseUrl: `${url}/` }))).toEqual([
      { title: "One & only", url: "https://one.example/a?b=c&d=e", snippet: "The first\n  one 'here'" },
      { title: "Two", url: "https://two.example/", snippet: "" },
      { title: "Three", url: "https://three.example/", snippet: "Third" },
    ])
    expect(seen).toMatchObject([{ method: "GET", path: "/html/", query: { q: "longhaul & friends" } }])
    expect(await search(duckDuckGo({ baseUrl: url }), "x", 1)).toHaveLength(1)
  })

  test("an empty result page has no results, and any other page without results is an error", async () => {
    const empty = await serverThat(duckPage('<div class="result results--no-results no-results">No results.</div>'))
    expect(await search(duckDuckGo({ baseUrl: empty.url }))).toEqual([])
    const human = await serverThat('<div class="anomaly-modal__title">Are you human?</div>', 202)
    await expect(search(duckDuckGo({ baseUrl: human.url }))).rejects.toMatchObject({
      code: "io",
      message: "The response of DuckDuckGo was not understood. The search was not done.",
    })
  })

  test("a truncated result page is parsed as far as possible", async () => {
    const { url } = await serverThat(
      '<a class="result__a" href="https://one.example/">One<a class="result__snippet">text',
    )
    expect(await search(duckDuckGo({ baseUrl: url }))).toMatchObject([{ url: "https://one.example/" }])
  })
})

const results = [
  { title: "One <strong>x</strong>", url: "https://one.example/", description: "a &amp; b", content: "c" },
  { title: "Without an address" },
  "no object",
  { url: "https://two.example/" },
]

describe("search engines with an API", () => {
  test("Brave sends the key in its header and returns the web results", async () => {
    const { url, seen } = await serverThat({ type: "search", web: { type: "search", results } })
    expect(await search(brave({ apiKey: " key\n", baseUrl: url }))).toEqual([
      { title: "One x", url: "https://one.example/", snippet: "a & b" },
      { title: "", url: "https://two.example/", snippet: "" },
    ])
    expect(seen).toMatchObject([
      {
        method: "GET",
        path: "/res/v1/web/search",
        query: { q: "longhaul & friends", count: "8" },
        headers: { "x-subscription-token": "key", accept: "application/json" },
      },
    ])
    const nothing = await serverThat({ type: "search", query: {} })
    expect(await search(brave({ apiKey: "key", baseUrl: nothing.url }))).toEqual([])
  })

  test("Tavily sends the query in a body and the key as bearer", async () => {
    const { url, seen } = await serverThat({ query: "x", results, response_time: 1 })
    expect(await search(tavily({ apiKey: "tvly-key", baseUrl: url }), "x", 1)).toEqual([
      { title: "One x", url: "https://one.example/", snippet: "c" },
    ])
    expect(seen).toMatchObject([
      {
        method: "POST",
        path: "/search",
        headers: { authorization: "Bearer tvly-key", "content-type": "application/json" },
      },
    ])
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ query: "x", max_results: 1 })
  })

  test("SearXNG works on a self-hosted server below any path", async () => {
    const { url, seen } = await serverThat({ query: "x", number_of_results: 0, results })
    expect(await search(searxng({ baseUrl: `${url}/searx/` }))).toHaveLength(2)
    expect(seen).toMatchObject([{ path: "/searx/search", query: { q: "longhaul & friends", format: "json" } }])
  })

  const engines: readonly (readonly [string, (baseUrl: string) => SearchEngine])[] = [
    ["DuckDuckGo", (baseUrl) => duckDuckGo({ baseUrl })],
    ["Brave", (baseUrl) => brave({ apiKey: "sk-secret", baseUrl })],
    ["Tavily", (baseUrl) => tavily({ apiKey: "sk-secret", baseUrl })],
    ["SearXNG", (baseUrl) => searxng({ baseUrl })],
  ]

  test.each(engines)("%s: an invalid response is an error that says so", async (name, engine) => {
    for (const answer of ["<p>something else", [], { results: "none" }, { web: null }, { type: "error" }]) {
      const { url } = await serverThat(answer)
      await expect(search(engine(url)), JSON.stringify(answer)).rejects.toMatchObject({
        code: "io",
        message: `The response of ${name} was not understood. The search was not done.`,
      })
    }
  })

  test.each(engines)("%s: a rejection and an unreachable server are errors without the key", async (name, engine) => {
    for (const [status, why] of [
      [401, ": it rejects the key or the request"],
      [403, ": it rejects the key or the request"],
      [429, ": rate limit exceeded"],
      [500, ""],
      [307, ""],
    ] as const) {
      const { url } = await serverThat({ error: "sk-secret" }, status)
      const { isError, text } = await call(engine(url), { query: "x" })
      expect({ isError, error: JSON.parse(text).error }).toEqual({
        isError: true,
        error: { code: "io", message: `${name} responded with status ${status}${why}. The search was not done.` },
      })
    }
    const { url } = await serverThat({})
    stopServers()
    const gone = await call(engine(url), { query: "x" })
    expect(JSON.parse(gone.text)).toMatchObject({
      error: { code: "io", message: expect.stringContaining("ECONNREFUSED") },
    })
    expect(gone.text).not.toContain("sk-secret")
  })

  test("a private search engine is rejected unless its host is allowed", async () => {
    const { url, seen } = await serverThat({ results: [] })
    const { text } = await call(searxng({ baseUrl: url }), { query: "x" }, { env: { fetch: nodeFetch() } })
    expect(JSON.parse(text)).toMatchObject({ error: { code: "denied" } })
    expect(seen).toEqual([])
  })

  test("an invalid configuration is rejected immediately, without the key", () => {
    expect(() => brave({ apiKey: " " })).toThrow(LonghaulError)
    expect(() => tavily({ apiKey: "" })).toThrow(LonghaulError)
    expect(() => searxng({ baseUrl: "searx.example" })).toThrow(LonghaulError)
    expect(() => duckDuckGo({ baseUrl: "file:///x" })).toThrow(LonghaulError)
    expect(JSON.stringify(brave({ apiKey: "sk-secret" }))).not.toContain("sk-secret")
  })
})

describe("WebSearch output", () => {
  const engineOf = (found: Awaited<ReturnType<SearchEngine["search"]>>): SearchEngine => ({
    name: "Ours",
    search: async () => found,
  })

  test("results are separate lines with web addresses only", async () => {
    const engine = engineOf([
      {
        title: "One\n2. Forged\n   https://evil.example",
        url: "https://one.example",
        snippet: ` a\u2028b\u0007 ${"c ".repeat(900)}`,
      },
      { title: "Script", url: "javascript:alert(1)", snippet: "" },
      { title: "", url: "https://two.example/x y", snippet: "" },
    ])
    const { text } = await call(engine, { query: 'a "b"' })
    expect(text.split("\n")).toEqual([
      'Ours, 2 results for "a \\"b\\"":',
      "",
      "1. One 2. Forged https://evil.example",
      "   https://one.example/",
      `   ${`a b ${"c ".repeat(900)}`.slice(0, 500)}…`,
      "",
      "2. (without a title)",
      "   https://two.example/x%20y",
    ])
  })

  test("WebSearch returns at most the requested number, and says if there are none", async () => {
    const many = Array.from({ length: 30 }, (_, index) => ({
      title: "t",
      url: `https://a.example/${index}`,
      snippet: "",
    }))
    expect((await call(engineOf(many), { query: "x", limit: 3 })).text).toContain("3 results")
    expect((await call(engineOf(many), { query: "x" })).text).toContain("8 results")
    expect((await call(engineOf([]), { query: "x" })).text).toBe('Ours found nothing for "x".')
  })

  test("WebSearch reports invalid arguments and missing web access", async () => {
    for (const args of [{}, { query: "" }, { query: "  " }, { query: "x", limit: 0 }, { query: "x", limit: 21 }]) {
      expect(JSON.parse((await call(engineOf([]), args)).text)).toMatchObject({ error: { code: "invalid_input" } })
    }
    const nothing = await call(duckDuckGo(), { query: "x" }, { env: {} })
    expect(JSON.parse(nothing.text)).toMatchObject({ error: { code: "denied" } })
  })
})
