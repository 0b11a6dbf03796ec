import { describe, expect, test, vi } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject, JsonObjectSchema } from "../../contract/json.ts"
import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { defineTool, type ToolDefinition } from "./define-tool.ts"
import { createDispatcher } from "./dispatch.ts"
import { createToolContext } from "./tool-context.ts"

const anything = { type: "object" } as const

function toolThat(run: () => unknown, extra: Partial<ToolDefinition<JsonObjectSchema, JsonObject>> = {}): Tool {
  return defineTool({ name: "tool", description: "A tool.", inputSchema: anything, effect: "none", run, ...extra })
}

function contextWith(signal: AbortSignal = new AbortController().signal): ToolContext {
  return createToolContext({ signal })
}

async function textOf(tool: Tool, args: Json = {}): Promise<string> {
  return (await createDispatcher([tool]).callTool("tool", args, contextWith())).text
}

describe("createDispatcher", () => {
  test("the dispatcher lists exactly the callable tools", { tags: ["TOOL-21"] }, async () => {
    const dispatcher = createDispatcher([toolThat(() => "a"), toolThat(() => "b", { name: "other" })])
    const listed = dispatcher.listTools()
    expect(listed).toEqual([
      { name: "tool", description: "A tool.", inputSchema: anything },
      { name: "other", description: "A tool.", inputSchema: anything },
    ])
    expect(dispatcher.listTools()).toBe(listed)
    for (const { name } of listed)
      expect(await dispatcher.callTool(name, {}, contextWith())).toHaveProperty("isError", false)
    expect(dispatcher.tool("other")?.name).toBe("other")
    expect(dispatcher.tool("nothing")).toBeUndefined()
  })

  test("a disabled tool is neither listed nor callable", { tags: ["TOOL-16"] }, async () => {
    const run = vi.fn()
    const dispatcher = createDispatcher([toolThat(run), toolThat(() => "b", { name: "b" })], {
      disabled: ["tool", "x"],
    })
    expect(dispatcher.listTools().map(({ name }) => name)).toEqual(["b"])
    const { isError, text } = await dispatcher.callTool("tool", {}, contextWith())
    expect(isError).toBe(true)
    expect(JSON.parse(text)).toEqual({
      error: { code: "not_found", message: '"tool" is not an available tool. Available tools: b.' },
    })
    expect(run).not.toHaveBeenCalled()
  })

  test("two tools with one name are config_invalid immediately", () => {
    const twice = [toolThat(() => ""), toolThat(() => "")]
    expect(() => createDispatcher(twice)).toThrow(LonghaulError)
    expect(() => createDispatcher(twice)).toThrow('Two tools are named "tool"')
  })

  test.each(["nothing", "__proto__", "constructor", ""])(
    "an unknown tool %j is not_found",
    { tags: ["TOOL-22"] },
    async (name) => {
      const dispatcher = createDispatcher([toolThat(() => "")])
      const outcome = await dispatcher.dispatch({ name, args: {} }, contextWith())
      expect(outcome.status).toBe("error")
      expect(JSON.parse(plainText(outcome.output, ""))).toEqual({
        error: { code: "not_found", message: `"${name}" is not an available tool. Available tools: tool.` },
      })
    },
  )

  test("bad arguments are invalid_input with every issue, and the tool does not run", {
    tags: ["TOOL-23"],
  }, async () => {
    const run = vi.fn()
    const inputSchema = { type: "object", properties: { a: { type: "string" } }, required: ["a", "b"] } as const
    const dispatcher = createDispatcher([toolThat(run, { inputSchema })])
    const { text } = await dispatcher.callTool("tool", { a: 1 }, contextWith())
    expect(JSON.parse(text)).toEqual({
      error: {
        code: "invalid_input",
        message: "Invalid arguments for tool:\nb: is required\na: must be string, not number",
      },
    })
    const outcome = await dispatcher.dispatch({ name: "tool", args: null, invalid: "it ends early" }, contextWith())
    expect(JSON.parse(plainText(outcome.output, ""))).toEqual({
      error: { code: "invalid_input", message: "The arguments cannot be used: it ends early" },
    })
    expect(run).not.toHaveBeenCalled()
  })

  test("a tool gets its validated arguments and the context", { tags: ["TOOL-24"] }, async () => {
    const run = vi.fn(() => "ok")
    const inputSchema = { type: "object", properties: { a: { default: 1 } } } as const
    const context = contextWith()
    await createDispatcher([toolThat(run, { inputSchema })]).callTool("tool", { b: 2 }, context)
    expect(run).toHaveBeenCalledWith({ a: 1, b: 2 }, context)
  })

  test.each<[string, unknown, string]>([
    ["text", "plain", "plain"],
    ["an empty text", "", ""],
    ["an object", { a: [1] }, '{"a":[1]}'],
    ["an empty array", [], "[]"],
    ["an array of other things", [{ type: "image" }], '[{"type":"image"}]'],
    ["a number", 0, "0"],
    ["null", null, "null"],
    ["undefined", undefined, "null"],
    ["a function", () => 1, "null"],
    ["a promise", Promise.resolve("later"), "later"],
    ["half a character", "a\ud800b", "a\ufffdb"],
  ])("a tool result of %s is returned as text", async (_, returned, text) => {
    expect(await textOf(toolThat(() => returned))).toBe(text)
  })

  test("content parts are returned unchanged, as copies", async () => {
    const parts = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ]
    const dispatcher = createDispatcher([toolThat(() => parts)])
    const { output } = await dispatcher.dispatch({ name: "tool", args: {} }, contextWith())
    const first = parts[0]
    if (first !== undefined) first.text = "changed later"
    expect(output).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ])
  })

  test("a ToolError reaches the model as a JSON envelope", { tags: ["TOOL-27"] }, async () => {
    const failing = toolThat(() => {
      throw new ToolError("conflict", "It changed.")
    })
    const outcome = await createDispatcher([failing]).dispatch({ name: "tool", args: {} }, contextWith())
    expect(outcome).toEqual({
      status: "error",
      output: [{ type: "text", text: '{"error":{"code":"conflict","message":"It changed."}}' }],
    })
  })

  test("a ToolError from another copy of the package is recognised; one with an unknown code is not", async () => {
    const foreign = (code: string) =>
      toolThat(() => Promise.reject(Object.assign(new Error("Mine."), { name: "ToolError", code })))
    expect(await textOf(foreign("io"))).toBe('{"error":{"code":"io","message":"Mine."}}')
    expect(await textOf(foreign("toString"))).toBe('{"error":{"code":"internal","message":"The tool tool failed."}}')
  })

  test("any other error is internal: its text reaches neither model nor log", {
    tags: ["TOOL-27", "LOOP-14"],
  }, async () => {
    const warn = vi.fn()
    const failing = toolThat(() => Promise.reject(new TypeError("the password is hunter2")))
    const dispatcher = createDispatcher([failing], { logger: { warn } })
    const outcome = await dispatcher.dispatch({ name: "tool", args: {} }, contextWith())
    expect(outcome.status).toBe("error")
    expect(JSON.parse(plainText(outcome.output, ""))).toEqual({
      error: { code: "internal", message: "The tool tool failed." },
    })
    expect(warn).toHaveBeenCalledWith("A tool failed.", { tool: "tool", code: "internal" })
    expect(JSON.stringify([outcome, warn.mock.calls])).not.toContain("hunter2")
  })

  const cycle: { self?: unknown } = {}
  cycle.self = cycle

  test.each<[string, unknown]>([
    ["a cycle", cycle],
    ["a BigInt", { big: 1n }],
    ["a toJSON that throws", { toJSON: fail }],
  ])("the result says for %s that the tool ran, without its return value", async (_, returned) => {
    expect(JSON.parse(await textOf(toolThat(() => returned)))).toEqual({
      error: { code: "internal", message: "The tool tool ran, but its return value cannot be serialised as JSON." },
    })
  })

  test("an unusable schema is the tool's fault: it does not run", async () => {
    const run = vi.fn()
    const inputSchema = { type: "object", properties: { a: { $ref: "#/$defs/missing" } } } as const
    expect(await textOf(toolThat(run, { inputSchema }), { a: 1 })).toContain("could not check its arguments")
    expect(run).not.toHaveBeenCalled()
  })
})

function fail(): never {
  throw new Error("hostile")
}
