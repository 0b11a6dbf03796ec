import { describe, expect, test } from "vitest"
import { z } from "zod"
import { LonghaulError } from "../../contract/error.ts"
import type { StandardSchema } from "../../contract/standard-schema.ts"
import { defineTool } from "./define-tool.ts"
import { createToolContext } from "./tool-context.ts"

const complete = {
  name: "add",
  description: "Adds.",
  inputSchema: { type: "object", properties: { a: { type: "number" } } },
  run: () => "done",
} as const

const context = createToolContext()

describe("defineTool", () => {
  test("defineTool uses cautious defaults", () => {
    expect(defineTool(complete)).toMatchObject({ effect: "once", concurrent: false, risk: "medium" })
    expect(defineTool({ ...complete, effect: "none" })).toMatchObject({ concurrent: true, risk: "low" })
    expect(defineTool({ ...complete, effect: "repeatable" })).toMatchObject({ concurrent: false, risk: "medium" })
  })

  test("defineTool keeps the author's settings", () => {
    const tool = defineTool({ ...complete, effect: "none", concurrent: false, risk: "high", maxOutputBytes: 10 })
    expect(tool).toMatchObject({ effect: "none", concurrent: false, risk: "high", maxOutputBytes: 10 })
    expect(tool.validate).toBeUndefined()
  })

  test("a defined tool and its schema copy are frozen", () => {
    const input = { type: "object" as const, properties: { a: { type: "number" } } }
    const tool = defineTool({ ...complete, inputSchema: input })
    input.properties.a.type = "string"
    expect(Object.isFrozen(tool)).toBe(true)
    expect(Object.isFrozen(tool.inputSchema.properties)).toBe(true)
    expect(tool.inputSchema).toEqual({ type: "object", properties: { a: { type: "number" } } })
  })

  test("defineTool passes arguments and context to run", { tags: ["TOOL-24"] }, () => {
    const tool = defineTool({ ...complete, run: (...received: unknown[]) => received })
    expect(tool.run({ a: 1 }, context)).toEqual([{ a: 1 }, context])
  })

  test("defineTool uses the JSON Schema of a Standard Schema and validates with it", async () => {
    const input = z.object({ count: z.string().transform(Number), unit: z.string().default("m") })
    const tool = defineTool({ ...complete, inputSchema: input, run: (args) => args })
    expect(tool.inputSchema).toMatchObject({ type: "object", required: ["count"] })
    expect(tool.inputSchema).not.toHaveProperty("$schema")
    expect(await tool.validate?.({ count: "3" })).toEqual({ ok: true, args: { count: 3, unit: "m" } })
    const refused = await tool.validate?.({ count: 3, unit: 4 })
    expect(refused).toMatchObject({ ok: false })
    expect(refused).toHaveProperty("issues.0", expect.stringMatching(/^count: /))
    expect(refused).toHaveProperty("issues.1", expect.stringMatching(/^unit: /))
  })

  test("a nested issue has its full path", async () => {
    const tool = defineTool({ ...complete, inputSchema: z.object({ files: z.array(z.object({ path: z.string() })) }) })
    expect(await tool.validate?.({ files: [{ path: 1 }] })).toHaveProperty(
      "issues.0",
      expect.stringMatching(/^files\[0\]\.path: /),
    )
  })

  const withoutJsonSchema: StandardSchema = {
    "~standard": { version: 1, vendor: "oldlib", validate: (value) => ({ value }) },
  }
  const cycle: Record<string, unknown> = { type: "object" }
  cycle.self = cycle

  test.each<[string, Record<string, unknown>, string]>([
    ["a name with a space", { name: "my tool" }, "my tool"],
    ["an empty name", { name: "" }, "invalid name"],
    ["a name of 65 characters", { name: "a".repeat(65) }, "invalid name"],
    ["no name", { name: undefined }, "invalid name"],
    ["no description", { description: undefined }, "add"],
    ["a blank description", { description: "  " }, "no description"],
    ["no run", { run: undefined }, "run"],
    ["no input", { inputSchema: undefined }, "no input schema"],
    ["an input that is not an object schema", { inputSchema: { type: "string" } }, "add"],
    ["an input without a type", { inputSchema: {} }, "not of type"],
    ["an array as input", { inputSchema: [] }, "no input schema"],
    ["an input that is not JSON", { inputSchema: cycle }, "not JSON"],
    ["a Standard Schema of a string", { inputSchema: z.string() }, "not of type"],
    ["a Standard Schema without JSON Schema", { inputSchema: withoutJsonSchema }, "oldlib"],
    ["a Standard Schema that JSON cannot express", { inputSchema: z.object({ when: z.date() }) }, "cannot express"],
    ["an unknown effect", { effect: "read" }, "unknown effect"],
    ["an unknown risk", { risk: "none" }, "unknown risk"],
    ["a negative output limit", { maxOutputBytes: -1 }, "maxOutputBytes"],
  ])("defineTool rejects %s as config_invalid, with a fix", (_, change, said) => {
    const error = thrownBy(() => defineTool({ ...complete, ...change } as typeof complete))
    expect(LonghaulError.is(error)).toBe(true)
    expect(error).toMatchObject({ code: "config_invalid", message: expect.stringContaining(said) })
    expect(error).toHaveProperty("fix", expect.stringMatching(/\.$/))
  })
})

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
