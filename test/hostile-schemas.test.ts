import { describe, expect, test, vi } from "vitest"
import type { Json, JsonSchema } from "../src/contract/json.ts"
import { pathPattern } from "../src/extensions/api/open-api/operation.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { schemaIssues } from "../src/lib/json-schema.ts"
import { PatternError } from "../src/lib/linear-pattern.ts"
import { linearSchema } from "../src/lib/schema/linear-schema.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"
import { countAttacks } from "./support/count-attacks.ts"

countAttacks("patterns of strangers that backtrack")

/** Each takes JavaScript's engine exponential or cubic time for the text behind it: the test's watchdog would end it. */
const hostile: readonly (readonly [string, string])[] = [
  ["(a+)+$", "a"],
  ["^(a|aa)+$", "a"],
  ["^(a|a?)+$", "a"],
  ["^([a-zA-Z]+)*$", "a"],
  ["(.*)*x$", "a"],
  ["^(\\w+\\s?)*$", "word "],
  ["a*a*a*a*a*a*b$", "a"],
]
const texts = (part: string) => [4_000, 8_000, 16_000].map((length) => `${part.repeat(length / part.length)}!`)

describe.each(hostile)("the pattern %s", (pattern, part) => {
  test("a slow pattern is checked in linear time as a pattern of texts, of keys and of property names", async () => {
    for (const text of texts(part)) {
      expect(await schemaIssues({ type: "string", pattern }, text, "value")).toHaveLength(1)
      const byKey = { patternProperties: { [pattern]: false }, additionalProperties: { type: "number" } }
      expect(await schemaIssues(byKey, { [text]: 1 }, "value")).toEqual([])
      expect(await schemaIssues({ propertyNames: { pattern } }, { [text]: 1 }, "value")).not.toEqual([])
      const below: JsonSchema = { anyOf: [{ $ref: "#/$defs/p" }, { type: "null" }], $defs: { p: { pattern } } }
      expect(await schemaIssues(below, text, "value")).not.toEqual([])
    }
  })

  test("a slow pattern of an MCP server blocks nothing: the call is refused and the run goes on", async () => {
    const inputSchema = { type: "object", properties: { text: { type: "string", pattern } } }
    const served = await serveScene({
      tools: () => [{ name: "put", description: "Puts.", inputSchema }],
      capabilities: { tools: {} },
    })
    const args = { text: texts(part).at(-1) ?? "" }
    const steps = [{ parts: [{ toolCall: { name: "mcp__scene__put", args } }] }, "Done."]
    const mcpServers = { scene: { url: served.url } }
    const runtime = createRuntime({ model: scriptedModel(steps), store: memoryStore(), tools: [], mcpServers, env: {} })
    const result = await runtime.run({ task: "x" })
    await served.close()
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
  })

  test("a slow pattern in the schema of an MCP tool's results blocks nothing, and the result is the tool's", async () => {
    const outputSchema = { type: "object", properties: { text: { type: "string", pattern } } }
    const served = await serveScene({
      tools: () => [{ name: "put", description: "Puts.", inputSchema: { type: "object" }, outputSchema }],
      capabilities: { tools: {} },
      respond: ({ id, method }, _, response) => {
        if (method !== "tools/call") return false
        const result = { content: [{ type: "text", text: "put" }], structuredContent: { text: texts(part).at(-1) } }
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
        return true
      },
    })
    const steps = [{ parts: [{ toolCall: { name: "mcp__scene__put", args: {} } }] }, "Done."]
    const mcpServers = { scene: { url: served.url } }
    const runtime = createRuntime({ model: scriptedModel(steps), store: memoryStore(), tools: [], mcpServers, env: {} })
    const result = await runtime.run({ task: "x" })
    await served.close()
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
  })

  test("a slow pattern in the schema of an agent's answer blocks nothing", async () => {
    const schema = { type: "object", properties: { text: { type: "string", pattern } }, required: ["text"] }
    const agent = { name: "Agent", args: { description: "x", prompt: "answer", schema } }
    const answer = JSON.stringify({ text: texts(part).at(-1) })
    const model = scriptedModel(
      Array.from({ length: 6 }, () => (messages) => {
        const asked = JSON.stringify(messages[0]?.content ?? "")
        if (asked.includes("answer")) return answer
        return messages.length === 1 ? { parts: [{ toolCall: agent }] } : "Done."
      }),
    )
    const runtime = createRuntime({ model, store: memoryStore(), tools: [], agents: {}, env: {} })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
  })
})

describe("the path of an operation in a stranger's document", () => {
  const templates: readonly (readonly [string, string])[] = [
    ["parameters beside each other", `/${"{a}".repeat(12)}/end`],
    ["parameters with one character between them", `/${Array(12).fill("{a}").join("x")}/end`],
    ["such parameters in many segments", `${"/{a}x{b}".repeat(12)}/end`],
  ]
  test.each(templates)("a path with %s blocks nothing", (_, template) => {
    const segments = template.split("/").length - 2
    expect(pathPattern(template).test(`${`/${"x".repeat(4_000)}`.repeat(segments)}/no`)).toBe(false)
  })

  test.each([
    ["/repos/{owner}/compare/{base}...{head}", "/repos/me/compare/v1.0...v1.1", ["me", "v1.0", "v1.1"]],
    ["/tiles/{z}/{x}/{y}.{format}", "/tiles/1/2/3.png", ["1", "2", "3", "png"]],
    ["/files/{name}.json", "/files/a.json.json", ["a.json"]],
    ["/{a}{b}", "/xyz", ["x", "yz"]],
  ])("%s takes %s apart", (template, path, values) => {
    expect(pathPattern(template).exec(path)?.slice(1)).toEqual(values)
  })
})

test("an agent whose schema has a pattern that cannot run in linear time is not started", async () => {
  const schema = { type: "object", properties: { text: { type: "string", pattern: "(?=(a+)+$)a" } } }
  const agent = { name: "Agent", args: { description: "x", prompt: "answer", schema } }
  const model = scriptedModel([{ parts: [{ toolCall: agent }] }, (messages) => JSON.stringify(messages.at(-1))])
  const runtime = createRuntime({ model, store: memoryStore(), tools: [], agents: {}, env: {} })
  const result = await runtime.run({ task: "x" })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error" }] })
  expect(result.text).toContain("cannot be checked in linear time")
})

test("a pattern is evaluated by the linear engine only", async () => {
  const native = vi.spyOn(RegExp.prototype, "test")
  await schemaIssues({ type: "string", pattern: "^only-here$" }, "x", "value")
  const sources = native.mock.contexts.map((each) => (each instanceof RegExp ? each.source : ""))
  native.mockRestore()
  expect(sources).not.toContain("^only-here$")
})

test.each(["(?=a)b", "(a)\\1", "(?<!a)b"])(
  "the pattern %s of a stranger, which cannot run in linear time, is left out and named",
  async (pattern) => {
    const schema = { properties: { a: { pattern }, b: { pattern: "^b$" } }, patternProperties: { [pattern]: false } }
    const linear = await linearSchema(schema)
    expect(linear.dropped).toEqual([pattern])
    expect(JSON.stringify(linear.schema)).not.toContain(JSON.stringify(pattern).slice(1, -1))
    expect(await schemaIssues(linear.schema, { a: "x", b: "c" }, "value")).toHaveLength(1)
  },
)

test("a host's own pattern that only JavaScript's engine can express is still checked", async () => {
  const schema = { type: "string", pattern: "^(?!admin)[a-z]+$" }
  expect(await schemaIssues(schema, "guest", "value")).toEqual([])
  expect(await schemaIssues(schema, "administrator", "value")).toHaveLength(1)
})

test("references that double with each level are refused before a value is checked", async () => {
  const $defs: Record<string, Json> = { last: { type: "string" } }
  for (let level = 0; level < 40; level++) {
    const $ref = level === 39 ? "#/$defs/last" : `#/$defs/d${level + 1}`
    $defs[`d${level}`] = { allOf: [{ $ref }, { $ref }] }
  }
  await expect(linearSchema({ $ref: "#/$defs/d0", $defs })).rejects.toThrow(PatternError)
  const tree = { $ref: "#/$defs/tree", $defs: { tree: { properties: { kids: { items: { $ref: "#/$defs/tree" } } } } } }
  expect((await linearSchema(tree)).dropped).toEqual([])
})

test.each([
  ["a property named pattern", { properties: { pattern: { type: "string" } } }, { pattern: "x" }],
  [
    "a property named patternProperties",
    { properties: { patternProperties: { type: "object" } } },
    { patternProperties: {} },
  ],
  ["a value with a pattern", { const: { pattern: "(a" } }, { pattern: "(a" }],
  ["an enum with a pattern", { enum: [{ pattern: "(a" }] }, { pattern: "(a" }],
] as const)("%s is no pattern", async (_, schema, value) => {
  expect(await schemaIssues(schema as JsonSchema, value, "value")).toEqual([])
})

test.each(["number", "integer"])("1e400 is no %s, at any depth", async (type) => {
  const value = JSON.parse("[1e400]")
  expect(await schemaIssues({ items: { type } }, value, "value")).not.toEqual([])
  expect(await schemaIssues({}, { a: value }, "value")).not.toEqual([])
})
