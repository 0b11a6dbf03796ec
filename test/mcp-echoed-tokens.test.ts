import type { ServerResponse } from "node:http"
import { afterEach, describe, expect, test } from "vitest"
import { ServerConnection } from "../src/extensions/mcp/connection.ts"
import { mcp } from "../src/extensions/mcp/index.ts"
import { createRuntime } from "../src/index.ts"
import { defaultBrand } from "../src/lib/brand.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { tool } from "./mcp-client/answers.mjs"
import { type SceneMessage, serveScene } from "./mcp-client/http-server.mjs"

const toClose: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

/** Returned for the requests of a run: no redactor that was made before the run can know it. */
const token = "late-4f7a19c3e8b25d60"
const url = (place: string) => `note://${place}`
const asBase64 = (text: string) => btoa(text)

const text = (value: string) => ({ content: [{ type: "text", text: value }] })
const initialized = (more: object) => (message: SceneMessage) => ({
  protocolVersion: Object(message.params).protocolVersion,
  capabilities: { tools: {}, resources: {} },
  serverInfo: { name: "scene", version: "1" },
  ...more,
})

/** Every kind of answer in which a server can repeat what it was sent: the method, and the result with the token in it. */
const echoes: Readonly<Record<string, readonly [method: string, result: (message: SceneMessage) => object]>> = {
  "the text of a result": ["tools/call", () => text(`You sent ${token}.`)],
  "a result that says that it is complete": ["tools/call", () => ({ ...text(token), resultType: "complete" })],
  "an error of a tool": ["tools/call", () => ({ ...text(`Bad token ${token}`), isError: true })],
  "structured content": ["tools/call", () => ({ content: [], structuredContent: { deep: [{ sent: token }] } })],
  "a key of structured content": ["tools/call", () => ({ content: [], structuredContent: { [token]: 1 } })],
  "an embedded resource": [
    "tools/call",
    () => ({ content: [{ type: "resource", resource: { uri: url("x"), mimeType: "text/plain", text: token } }] }),
  ],
  "a link to a resource": [
    "tools/call",
    () => ({ content: [{ type: "resource_link", uri: url(token), name: token, description: token }] }),
  ],
  "the text of a resource": ["resources/read", () => ({ contents: [{ uri: url("one"), text: `Sent: ${token}` }] })],
  "the bytes of a resource": [
    "resources/read",
    () => ({ contents: [{ uri: url("one"), mimeType: "text/plain", blob: asBase64(`Sent: ${token}`) }] }),
  ],
  "the address of a resource that is a file": [
    "resources/read",
    () => ({ contents: [{ uri: url(token), mimeType: "text/plain", blob: asBase64("harmless") }] }),
  ],
  "the list of resources": [
    "resources/list",
    () => ({ resources: [{ uri: url(token), name: `name ${token}`, description: `about ${token}` }] }),
  ],
  "the list of templates": [
    "resources/templates/list",
    () => ({ resourceTemplates: [{ uriTemplate: `${url(token)}/{name}`, name: token }] }),
  ],
  "the description of a tool": ["tools/list", () => ({ tools: [tool("echo", {}, {}, `Sends ${token}`)] })],
  "the schema of a tool": [
    "tools/list",
    () => ({ tools: [tool("echo", { [token]: { type: "string", description: token, enum: [token] } })] }),
  ],
  instructions: ["initialize", initialized({ instructions: `Say ${token}.` })],
}

const json = (response: ServerResponse, body: object) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ jsonrpc: "2.0", ...body }))
  return true
}

/** A run that uses everything of a server. Returns all that the model, the host and the journal have got. */
async function seenWith(respond: (message: SceneMessage, response: ServerResponse) => boolean): Promise<string> {
  const served = await serveScene({ stateless: true, respond: (message, _, response) => respond(message, response) })
  toClose.push(() => served.close())
  const seen: unknown[] = []
  const call = (name: string, args = {}) => ({ toolCall: { name, args } })
  const steps: readonly ScriptedStep[] = [
    (_, setup) => {
      seen.push(setup)
      return {
        parts: [
          call("mcp__scene__echo", { text: "hello" }),
          call("ListMcpResources"),
          call("ReadMcpResource", { server: "scene", uri: url("one") }),
        ],
      }
    },
    "done",
  ]
  const model = scriptedModel(steps)
  const headersProvider = () => ({ authorization: `Bearer ${token}` })
  const runtime = createRuntime({
    model,
    store: memoryStore(),
    extensions: [mcp({ servers: { scene: { url: served.url, headersProvider } } })],
  })
  toClose.push(() => runtime.close())
  const result = await runtime.run({
    task: "x",
    runId: "r",
    onEvent: (event) => seen.push(event),
    onProgress: (progress) => seen.push(progress),
  })
  expect(result.toolCalls).toHaveLength(3)
  seen.push(result, model.calls)
  for await (const record of runtime.events("r")) seen.push(record)
  return JSON.stringify(seen)
}

describe("a token of the client that a server repeats", () => {
  test.each(Object.entries(echoes))("a repeated token in %s reaches nobody", async (_, [method, result]) => {
    let repeated = 0
    const seen = await seenWith((message, response) => {
      if (message.method !== method) return false
      repeated++
      return json(response, { id: message.id, result: result(message) })
    })
    expect(repeated).toBeGreaterThan(0)
    expect(seen).not.toContain(token)
    expect(seen).not.toContain(asBase64(token).slice(0, 20))
  })

  test.each(["tools/call", "resources/read", "resources/list"])(
    "a repeated token in a refusal of %s reaches nobody",
    async (method) => {
      const seen = await seenWith((message, response) => {
        if (message.method !== method) return false
        return json(response, { id: message.id, error: { code: -32000, message: `No: ${token}`, data: { token } } })
      })
      expect(seen).toContain("refused: ")
      expect(seen).not.toContain(token)
    },
  )

  test("a repeated token in reports of progress reaches nobody", async () => {
    const seen = await seenWith(({ id, method, params }, response) => {
      if (method !== "tools/call") return false
      const progressToken = params._meta?.progressToken
      const event = (body: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...body })}\n\n`
      response.writeHead(200, { "content-type": "text/event-stream" })
      const params_ = { progressToken, progress: 1, total: 2, message: `Half of ${token} done` }
      response.write(event({ method: "notifications/progress", params: params_ }))
      response.end(event({ id, result: text("finished") }))
      return true
    })
    expect(seen).toContain("(1 of 2)")
    expect(seen).not.toContain(token)
  })

  test("a repeated token in prompts reaches nobody", async () => {
    const served = await serveScene({
      stateless: true,
      respond: ({ id, method }, _, response) => {
        if (method === "prompts/list")
          return json(response, { id, result: { prompts: [{ name: "p", description: token }] } })
        const messages = [{ role: "user", content: { type: "text", text: token } }]
        return method === "prompts/get" && json(response, { id, result: { messages } })
      },
    })
    toClose.push(() => served.close())
    const connection = new ServerConnection({
      name: "scene",
      server: { url: served.url, headersProvider: () => ({ authorization: `Bearer ${token}` }) },
      host: { brand: defaultBrand },
      tenant: "t",
      runId: "r",
      cwd: "/",
      signal: new AbortController().signal,
    })
    toClose.push(() => connection.close())
    const seen = JSON.stringify([await connection.prompts(), await connection.prompt("p", {})])
    expect(seen).toContain("[secret]")
    expect(seen).not.toContain(token)
  })
})
