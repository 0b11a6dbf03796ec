import type { ServerResponse } from "node:http"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { stopServers } from "../../../test/support/proxy-servers.ts"
import { startWeb } from "../../../test/support/web-servers.ts"
import type { FetchedBody, GuardedFetch } from "../../contract/env.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { createRuntime, nodeFetch } from "../../hosts/node/index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { createDispatcher, webFetchTool } from "../index.ts"

afterEach(() => {
  stopServers()
  vi.useRealTimers()
})

let dispatcher = createDispatcher([webFetchTool()])
beforeEach(() => {
  dispatcher = createDispatcher([webFetchTool()])
})

function contextWith(fetch: GuardedFetch | undefined, runId = "run"): ToolContext {
  const { signal } = new AbortController()
  const env = fetch === undefined ? {} : { fetch }
  return {
    signal,
    idempotencyKey: "k",
    workspaceId: "default",
    runScope: runId,
    runId,
    callId: "1.0",
    cwd: "/",
    env,
    progress() {},
  }
}

const call = (
  args: JsonObject,
  fetch: GuardedFetch | undefined = nodeFetch({ allow: ["127.0.0.1"] }),
  runId?: string,
) => dispatcher.callTool("WebFetch", args, contextWith(fetch, runId))

/** The same response to every request, and the number of requests. */
function fetchOf(answer: Partial<FetchedBody> & { readonly text?: string }) {
  const bytes = new TextEncoder().encode(answer.text ?? "")
  const get = vi.fn<GuardedFetch["get"]>(async (url) => ({
    url,
    status: 200,
    contentType: "text/plain",
    bytes,
    truncated: false,
    ...answer,
  }))
  return { get, post: get as unknown as GuardedFetch["post"] }
}

const send = (type: string, body: string | Uint8Array, status = 200) =>
  startWeb((_, response: ServerResponse) => response.writeHead(status, { "content-type": type }).end(body))

describe("WebFetch converts a page to text", { tags: ["TOOL-13"] }, () => {
  test("WebFetch is read-only and runs in parallel", () => {
    expect(webFetchTool()).toMatchObject({ name: "WebFetch", effect: "none", concurrent: true, risk: "low" })
  })

  test("WebFetch converts HTML to Markdown, after title, address and status", async () => {
    const html = "<title>A &amp; B</title><script>no</script><h1>Hello</h1><p>See <a href=/there>there</a>.</p>"
    const { url } = await send("text/html; charset=utf-8", html)
    const { isError, text } = await call({ url: `${url}/here` })
    expect(isError).toBe(false)
    expect(text).toBe(
      `${url}/here (status 200, text/html, ${html.length} bytes)\nTitle: A & B\n\n# Hello\n\nSee [there](${url}/there).`,
    )
  })

  test("WebFetch resolves links against the final address", async () => {
    const server = await startWeb((request, response) => {
      if (request.url === "/old") response.writeHead(301, { location: "/new/" }).end()
      else response.writeHead(200, { "content-type": "text/html" }).end("<a href=x>x</a>")
    })
    const { text } = await call({ url: `${server.url}/old` })
    expect(text).toContain(`[x](${server.url}/new/x)`)
    expect(text.startsWith(`${server.url}/new/ (status 200`)).toBe(true)
  })

  test("WebFetch returns JSON and other text unchanged, and only the type of anything else", async () => {
    const json = '{"a": 1.0,\n "b": [9007199254740993]}'
    expect((await call({ url: (await send("application/json", json)).url })).text).toContain(`\n\n${json}`)
    expect((await call({ url: (await send("text/markdown", "# <b>x</b>")).url })).text).toContain("\n\n# <b>x</b>")
    const picture = await send("image/png", Uint8Array.from([1, 2, 3]))
    expect(await call({ url: picture.url })).toEqual({
      isError: false,
      text: `${picture.url}/ (status 200, image/png, 3 bytes)\nThis is not text, so it is not shown.`,
    })
  })

  test("WebFetch returns an error status as a result", async () => {
    const { url } = await send("text/html", "<p>No such page</p>", 404)
    expect(await call({ url })).toEqual({
      isError: false,
      text: `${url}/ (status 404, text/html, 19 bytes)\n\nNo such page`,
    })
  })

  test.each([
    ["the header", "text/html; charset=ISO-8859-1", [0xe9]],
    ["the page's own word", "text/html", [...new TextEncoder().encode('<meta charset="windows-1252">'), 0xe9]],
    ["its mark", "text/plain; charset=latin1", [0xff, 0xfe, 0xe9, 0]],
    ["what it looks like", "text/plain", [0xc3, 0xa9]],
    ["what it looks like, where a name is unknown", "text/plain; charset=nonsense", [0xc3, 0xa9]],
    ["what it looks like, where it is no UTF-8", "text/plain", [0xe9, 0x61, 0xe9]],
  ])("WebFetch uses the encoding of %s", async (_, contentType, bytes) => {
    const { text } = await call({ url: "https://a.example" }, fetchOf({ contentType, bytes: Uint8Array.from(bytes) }))
    expect(text.split("\n\n")[1]).toMatch(/^é/)
  })

  test.each([
    ["<!DOCTYPE html><p>a", "(status 200, no content type, 19 bytes)\n\na"],
    ["plain <p>", "\n\nplain <p>"],
    ["\0\u0001", "This is not text"],
  ])("WebFetch without a content type detects %j", async (source, expected) => {
    const { text } = await call({ url: "https://a.example" }, fetchOf({ contentType: "", text: source }))
    expect(text).toContain(expected)
  })

  test("WebFetch returns a long text in parts that form the whole", async () => {
    const whole = Array.from({ length: 5000 }, (_, index) => `line ${index} 😀`).join("\n")
    const fetch = fetchOf({ text: whole })
    let [offset, joined] = [0, ""]
    for (;;) {
      const { text } = await call({ url: "https://a.example", offset, maxCharacters: 30_000 }, fetch)
      const body = text.slice(text.indexOf("\n\n") + 2)
      const more = /\n\[(\d+) characters follow; continue with offset (\d+)\]$/.exec(body)
      joined += body.slice(0, more?.index)
      if (more === null) break
      offset = Number(more[2])
      expect(Number(more[1])).toBe(whole.length - offset)
    }
    expect(joined).toBe(whole)
    expect(fetch.get).toHaveBeenCalledTimes(1)
    const beyond = await call({ url: "https://a.example", offset: whole.length }, fetch)
    expect(JSON.parse(beyond.text)).toMatchObject({ error: { code: "invalid_input" } })
  })

  test("WebFetch reports a truncated body", async () => {
    const { text } = await call({ url: "https://a.example" }, fetchOf({ text: "start", truncated: true }))
    expect(text).toContain("more than 5 bytes)\nOnly the first 5 bytes were read.\n\nstart")
  })
})

describe("the cache of WebFetch", () => {
  test("a page is cached for its run and for a limited time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    const fetch = fetchOf({ text: "page" })
    const url = "https://a.example"
    for (const runId of ["one", "one", "two", "one"]) await call({ url }, fetch, runId)
    expect(fetch.get).toHaveBeenCalledTimes(2)
    vi.setSystemTime(Date.now() + 301_000)
    await call({ url }, fetch, "one")
    expect(fetch.get).toHaveBeenCalledTimes(3)
    await call({ url: `${url}/other` }, fetch, "one")
    expect(fetch.get).toHaveBeenCalledTimes(4)
  })

  test("a failed page is not cached, and the cache is bounded", async () => {
    const failing = fetchOf({ status: 503, text: "later" })
    for (let time = 0; time < 2; time++) await call({ url: "https://a.example" }, failing)
    expect(failing.get).toHaveBeenCalledTimes(2)
    const fetch = fetchOf({ text: "page" })
    for (let page = 0; page < 100; page++) await call({ url: `https://a.example/${page}` }, fetch)
    await call({ url: "https://a.example/99" }, fetch)
    expect(fetch.get).toHaveBeenCalledTimes(100)
    await call({ url: "https://a.example/0" }, fetch)
    expect(fetch.get).toHaveBeenCalledTimes(101)
  })
})

describe("WebFetch failures", () => {
  test("WebFetch rejects a non-public address and an environment without web access", async () => {
    const server = await send("text/plain", "private")
    const refused = await call({ url: server.url }, nodeFetch())
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "denied" } })
    expect(server.connections()).toBe(0)
    const context = contextWith(undefined)
    const nothing = await dispatcher.callTool("WebFetch", { url: server.url }, context)
    expect(JSON.parse(nothing.text)).toEqual({
      error: { code: "denied", message: "This environment has no access to the web." },
    })
  })

  test("a run on Node has guarded web access", async () => {
    const server = await send("text/plain", "private")
    const model = scriptedModel([{ parts: [{ toolCall: { name: "WebFetch", args: { url: server.url } } }] }, "done"])
    const runtime = createRuntime({ model, tools: [webFetchTool()], store: memoryStore() })
    const results: string[] = []
    for await (const event of runtime.stream({ task: "x" })) {
      if (event.type === "tool-result") results.push(JSON.stringify(event))
    }
    expect(results).toHaveLength(1)
    expect(results[0]).toContain("is not on the public internet")
    expect(server.connections()).toBe(0)
  })

  test("WebFetch rejects invalid arguments", async () => {
    for (const args of [{}, { url: "" }, { url: "https://a.example", maxCharacters: 0 }, { url: "x", offset: -1 }]) {
      expect(JSON.parse((await call(args)).text)).toMatchObject({ error: { code: "invalid_input" } })
    }
    expect(JSON.parse((await call({ url: "no url" })).text)).toMatchObject({ error: { code: "invalid_input" } })
  })
})
