import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { McpServer } from "../src/contract/mcp.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { type SseSettings, serveSse } from "./mcp-client/sse-server.mjs"

let folder = ""
const toClose: (() => Promise<unknown>)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "longhaul-mcp-sse-"))
})
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
  rmSync(folder, { recursive: true, force: true })
})

async function sse(settings: SseSettings = {}) {
  const served = await serveSse({ ledger: join(folder, "ledger.txt"), ...settings })
  toClose.push(() => served.close())
  return served
}

async function runWith(scene: McpServer, ...calls: readonly (readonly [string, object])[]) {
  const steps = calls.map(([name, args]) => ({
    parts: [{ toolCall: { name: `mcp__scene__${name}`, args: { ...args } } }],
  }))
  const runtime = createRuntime({
    model: scriptedModel([...steps, "done"]),
    store: memoryStore(),
    workspace: folder,
    tools: [],
    mcpServers: { scene },
  })
  toClose.push(() => runtime.close())
  const result = await runtime.run({ task: "x" })
  return { result, outputs: result.toolCalls.map(({ status, result: text }) => `${status}: ${String(text)}`) }
}

describe("an MCP server over SSE", () => {
  test("a server over SSE offers its tools to the model, and their results come back", {
    tags: ["MCP-01"],
  }, async () => {
    const { url } = await sse()
    const { outputs, result } = await runWith({ type: "sse", url }, ["echo", { text: "hello" }], ["pay", { usd: 5 }])
    expect(outputs).toEqual([expect.stringMatching(/^ok: .*hello/), expect.stringMatching(/^ok: .*paid 5/)])
    expect(result.warnings).toEqual([])
    expect(readFileSync(join(folder, "ledger.txt"), "utf8")).toBe('echo {"text":"hello"}\npay {"usd":5}\n')
  })

  test("a server over SSE gets the headers of the provider in each request, the stream included, and once more after a 401", {
    tags: ["MCP-03", "MCP-04"],
  }, async () => {
    let asked = 0
    const refused: string[] = []
    const served = await sse({
      refuse: ({ method, headers }) => {
        // Each kind of request is refused once.
        if (refused.includes(String(method))) return headers.authorization ? 0 : 403
        refused.push(String(method))
        return 401
      },
    })
    const headersProvider = () => ({ authorization: `Bearer token-number-${++asked}` })
    const scene: McpServer = { type: "sse", url: served.url, headers: { "x-tenant": "acme" }, headersProvider }
    const { outputs } = await runWith(scene, ["echo", { text: "hello" }])
    expect(outputs).toEqual([expect.stringContaining("hello")])
    expect(refused).toEqual(["GET", "POST"])
    const sent = served.requests.map(({ headers }) => headers)
    expect(sent.every((headers) => headers["x-tenant"] === "acme")).toBe(true)
    expect(new Set(sent.map(({ authorization }) => authorization)).size).toBe(sent.length)
  })

  test("a server that cuts its stream during a call leaves the outcome unknown, and the call is not sent again", async () => {
    const served = await sse({ cut: ({ method }) => method === "tools/call" })
    const { outputs } = await runWith({ type: "sse", url: served.url, timeoutMs: 1000 }, ["pay", { usd: 5 }])
    expect(outputs).toEqual([expect.stringMatching(/^unknown/)])
    expect(served.requests.filter(({ message }) => message?.method === "tools/call")).toHaveLength(1)
  })

  test("a server that names an address of another origin for its requests gets none sent there, nor its headers", async () => {
    const other = await sse()
    const served = await sse({ endpoint: other.url })
    const headers = { "x-api-key": "key-of-the-server-1" }
    const { result } = await runWith({ type: "sse", url: served.url, headers })
    expect(other.requests).toEqual([])
    expect(result).toMatchObject({ status: "done", warnings: [{ code: "mcp_unavailable" }] })
  })
})
