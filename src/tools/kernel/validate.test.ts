import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import type { Json, JsonObjectSchema } from "../../contract/json.ts"
import type { Tool } from "../../contract/tool.ts"
import { defineTool } from "./define-tool.ts"
import { validateInput } from "./validate.ts"

function toolWith(input: JsonObjectSchema): Tool {
  return defineTool({ name: "tool", description: "A tool.", inputSchema: input, run: () => "" })
}

async function issuesOf(input: JsonObjectSchema, args: Json): Promise<readonly string[]> {
  const result = await validateInput(toolWith(input), args)
  return result.ok ? [] : result.issues
}

async function accepted(input: JsonObjectSchema, args: Json): Promise<unknown> {
  const result = await validateInput(toolWith(input), args)
  return result.ok ? result.args : result.issues
}

const person: JsonObjectSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    age: { type: "integer", minimum: 0 },
    mood: { enum: ["good", "bad"] },
    pets: { type: "array", items: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } },
  },
  required: ["name"],
  additionalProperties: false,
}

describe("validateInput", () => {
  test("validation collects every issue, one line each: path, then problem", { tags: ["TOOL-23"] }, async () => {
    const issues = await issuesOf(person, { age: -1.5, mood: "odd", pets: [{ name: "Rex" }, {}], extra: 1 })
    expect(issues).toEqual([
      "name: is required",
      "age: must be integer, not number",
      "age: -1.5 is less than 0",
      'mood: does not match any of ["good","bad"]',
      "pets[1].name: is required",
      "extra: is not allowed here",
    ])
  })

  test.each<[string, Json, string]>([
    ["null", null, "arguments: must be object, not null"],
    ["an array", [], "arguments: must be object, not array"],
    ["a string", "x", "arguments: must be object, not string"],
  ])("%s in place of arguments is rejected", async (_, args, issue) => {
    expect(await issuesOf(person, args)).toEqual([issue])
  })

  test("validation reports what no alternative accepted", async () => {
    const input: JsonObjectSchema = {
      type: "object",
      properties: { id: { anyOf: [{ type: "string" }, { type: "integer" }] } },
    }
    expect(await issuesOf(input, { id: true })).toEqual([
      "id: does not match any subschemas",
      "id: must be string, not boolean",
      "id: must be integer, not boolean",
    ])
  })

  test("validation follows references and names the place, not the reference", async () => {
    const input: JsonObjectSchema = {
      type: "object",
      properties: { "a/b~c d": { $ref: "#/$defs/word" } },
      $defs: { word: { type: "string" } },
    }
    expect(await issuesOf(input, { "a/b~c d": 1 })).toEqual(["a/b~c d: must be string, not number"])
  })

  test("validation fills in defaults, also in nested objects and items", { tags: ["TOOL-23"] }, async () => {
    const input: JsonObjectSchema = {
      type: "object",
      properties: {
        limit: { type: "integer", default: 5 },
        options: { type: "object", default: {}, properties: { deep: { type: "boolean", default: true } } },
        rows: { type: "array", items: { type: "object", properties: { kind: { type: "string", default: "row" } } } },
        none: { type: "object", properties: { unused: { default: 1 } } },
      },
    }
    expect(await accepted(input, { rows: [{}, { kind: "head" }] })).toEqual({
      rows: [{ kind: "row" }, { kind: "head" }],
      limit: 5,
      options: { deep: true },
    })
  })

  test("defaults are validated too", async () => {
    expect(await issuesOf({ type: "object", properties: { a: { type: "string", default: 1 } } }, {})).toEqual([
      "a: must be string, not number",
    ])
  })

  test("a default is a copy, so one call cannot change the next one's", async () => {
    const tool = toolWith({ type: "object", properties: { list: { type: "array", default: [] } } })
    const first = await validateInput(tool, {})
    if (first.ok) (first.args as { list: number[] }).list.push(1)
    expect(await validateInput(tool, {})).toEqual({ ok: true, args: { list: [] } })
  })

  test("inherited keys count as missing", async () => {
    const input: JsonObjectSchema = {
      type: "object",
      properties: { toString: { type: "string", default: "own" }, constructor: { type: "string" } },
      required: ["constructor"],
    }
    expect(await issuesOf(input, {})).toEqual(["constructor: is required"])
    expect(await accepted(input, { constructor: "me" })).toEqual({ constructor: "me", toString: "own" })
  })

  test("`__proto__` is an ordinary key and does not reach the prototype", async () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}}}') as Json
    const args = await accepted({ type: "object", properties: { a: { type: "object" } } }, hostile)
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype)
    expect(JSON.stringify(args)).toBe(JSON.stringify(hostile))
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"object","default":{"polluted":1}}}}',
    ) as JsonObjectSchema
    const filled = await accepted(schema, {})
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test("validation rejects values that cannot come from JSON and excessive nesting", async () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const open: JsonObjectSchema = { type: "object" }
    expect(await issuesOf(open, cycle as Json)).toEqual(["arguments: nested too deeply"])
    expect(await issuesOf(open, { big: 1n } as unknown as Json)).toEqual(["arguments: must be JSON"])
    expect(await accepted(open, { gone: undefined } as unknown as Json)).toEqual({})
    expect(await issuesOf({ type: "object", additionalProperties: false }, { "\ud800": 1 })).toEqual([
      "arguments: a property name is not valid Unicode",
    ])
  })

  test("with very many issues, validation reports only how many more there are", async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key${index}`, 1]))
    const issues = await issuesOf({ type: "object", additionalProperties: false }, many)
    expect(issues).toHaveLength(21)
    expect(issues.at(-1)).toBe("… 30 more")
  })

  test("a schema of an older dialect is read as such", async () => {
    const input: JsonObjectSchema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { pair: { type: "array", items: [{ type: "string" }], additionalItems: false } },
    }
    expect(await issuesOf(input, { pair: ["a", "b"] })).toEqual(["pair[1]: is not allowed here"])
  })

  test("validation is synchronous once the library is loaded", async () => {
    const tool = toolWith(person)
    await validateInput(tool, {})
    expect(validateInput(tool, { name: "Ann" })).toEqual({ ok: true, args: { name: "Ann" } })
  })

  test("arguments are never mutated, neither by defaults nor by a tool that changes its input", async () => {
    const input: JsonObjectSchema = {
      type: "object",
      properties: { a: { default: 1 }, b: { type: "object", properties: { c: { default: [] } } } },
    }
    const tools = [toolWith(input), toolWith(person), standardTool]
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom("a", "b", "c", "name", "__proto__"), fc.jsonValue()),
        async (raw) => {
          const args = JSON.parse(JSON.stringify(raw)) as Json
          const before = JSON.stringify(args)
          for (const tool of tools) {
            const result = await validateInput(tool, args)
            if (result.ok) scribbleOver(result.args)
          }
          expect(JSON.stringify(args)).toBe(before)
        },
      ),
    )
  })
})

const standardTool = defineTool({ name: "s", description: "S.", inputSchema: z.object({ b: z.any() }), run: () => "" })

function scribbleOver(value: unknown): void {
  if (typeof value !== "object" || value === null) return
  for (const child of Object.values(value)) scribbleOver(child)
  Object.assign(value, { scribbled: true })
}
