import { describe, expect, test } from "vitest"
import type { Json, JsonObject } from "../src/contract/json.ts"
import { openApiService } from "../src/extensions/api/index.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"
import { openApi, serveApi } from "./support/api-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"

countAttacks("schemas of servers that cannot be checked in linear time")

const unlinear = "(?=(a+)+$)a"
/** JavaScript's engine takes exponential time for it: the test's watchdog would end it. */
const attack = `${"a".repeat(64)}!`
const text = { type: "string", pattern: unlinear, maxLength: 100 }

/** Each level refers to the next one twice. */
function doubling(levels: number): JsonObject {
  const $defs: Record<string, Json> = { last: { type: "string" } }
  for (let level = 0; level < levels; level++) {
    const $ref = level === levels - 1 ? "#/$defs/last" : `#/$defs/d${level + 1}`
    $defs[`d${level}`] = { allOf: [{ $ref }, { $ref }] }
  }
  return { type: "object", properties: { text: { $ref: "#/$defs/d0" } }, $defs }
}

/** A run whose model calls the tool `put` of an MCP server once for each arguments; its answer is the last result. */
async function calling(inputSchema: JsonObject, calls: readonly JsonObject[]) {
  const reached: unknown[] = []
  const served = await serveScene({
    tools: () => [
      { name: "put", description: "Puts.", inputSchema },
      { name: "other", description: "Another.", inputSchema: { type: "object" } },
    ],
    capabilities: { tools: {} },
    cut: (message) => {
      if (message.method === "tools/call") reached.push(message.params)
      return false
    },
  })
  const offered: string[] = []
  const steps = [...calls.map((args) => ({ parts: [{ toolCall: { name: "mcp__scene__put", args } }] })), "Done."]
  const model = scriptedModel(
    steps.map((step) => (_, { tools }) => {
      offered.push(...tools.map(({ name, inputSchema }) => `${name} ${JSON.stringify(inputSchema)}`))
      return step
    }),
  )
  const mcpServers = { scene: { url: served.url } }
  const runtime = createRuntime({ model, store: memoryStore(), tools: [], mcpServers, env: {} })
  const result = await runtime.run({ task: "x" })
  await runtime.close()
  await served.close()
  return { result, reached, put: offered.find((each) => each.startsWith("mcp__scene__put ")), offered }
}

describe("a tool of an MCP server", () => {
  const pattern = { type: "object", properties: { text } }

  test("a tool with a pattern that cannot run in linear time is offered without it and with a warning", async () => {
    const { result, put } = await calling(pattern, [{ text: "b" }])
    expect(put).toContain('"maxLength":100')
    expect(put).not.toContain("pattern")
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    const message = expect.stringMatching(/tool put of the MCP server scene .+not checked: "\(\?=\(a\+\)\+\$\)a"/)
    expect(result.warnings).toContainEqual(expect.objectContaining({ code: "mcp_pattern_unchecked", message }))
  })

  test("a tool with a slow pattern is called with a text that makes it backtrack, and nothing blocks", async () => {
    const { result, reached } = await calling(pattern, [{ text: attack }])
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    expect(reached).toEqual([expect.objectContaining({ arguments: { text: attack } })])
  })

  test("a tool with a slow pattern still has the rest of its schema checked", async () => {
    const { result, reached } = await calling(pattern, [{ text: "a".repeat(101) }])
    expect(result.toolCalls).toMatchObject([{ status: "error" }])
    expect(reached).toEqual([])
  })

  test("a tool whose schema doubles with each reference is withheld with a warning, and the others are offered", async () => {
    const { result, put, offered } = await calling(doubling(40), [])
    expect(put).toBeUndefined()
    expect(offered.some((each) => each.startsWith("mcp__scene__other "))).toBe(true)
    const message = expect.stringMatching(/tool put of the MCP server scene is withheld: its schema refers to itself/)
    expect(result.warnings).toContainEqual(expect.objectContaining({ code: "mcp_schema_refused", message }))
  })
})

describe("an operation of an OpenAPI document", () => {
  const document: JsonObject = {
    openapi: "3.0.3",
    info: { title: "Notes", version: "1" },
    paths: {
      "/notes": {
        get: { operationId: "findNotes", parameters: [{ name: "q", in: "query", schema: text }] },
        post: {
          operationId: "addNote",
          requestBody: {
            required: true,
            content: { "application/json": { schema: { type: "object", properties: { title: text } } } },
          },
        },
      },
    },
  }
  async function opened() {
    const served = await serveApi()
    const services = await openApiService(document, { name: "notes", baseUrl: served.url, asTools: ["findNotes"] })
    return { ...served, services, ...(await openApi({ services })) }
  }
  const get = (q: string) => ({ service: "notes", method: "GET", path: "/notes", query: { q } })
  const post = (title: string) => ({ service: "notes", method: "POST", path: "/notes", body: { title } })

  test("an operation with patterns that cannot run in linear time loses them alone, and a warning of each run names them", async () => {
    const { services, warnings, tools } = await opened()
    const operations = JSON.stringify(services.notes?.operations)
    expect(operations).not.toContain('"pattern"')
    expect(operations.match(/"maxLength":100/g)).toHaveLength(2)
    expect(JSON.stringify(tools)).not.toContain('"pattern"')
    expect(warnings).toEqual([
      expect.stringMatching(/^api_pattern_unchecked: .+service notes .+not checked: "\(\?=\(a\+\)\+\$\)a"\.$/),
    ])
  })

  test.each([
    ["a query", get(attack), get("a".repeat(101)), "ApiCall"],
    ["a body", post(attack), post("a".repeat(101)), "ApiCall"],
    ["an argument of its own tool", { q: attack }, { q: "a".repeat(101) }, "notes_findNotes"],
  ])(
    "an operation with a slow pattern for %s is called with a text that makes it backtrack, and nothing blocks",
    async (...each) => {
      const [, hostile, tooLong, name] = each
      const { call, requests } = await opened()
      expect((await call(hostile, name)).status).toBe("ok")
      expect((await call(tooLong, name)).status).toBe("error")
      expect(requests).toHaveLength(1)
    },
  )
})
