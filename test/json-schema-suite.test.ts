import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { Json, JsonSchema } from "../src/contract/json.ts"
import { fileTools } from "../src/tools/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { validateInput } from "../src/tools/kernel/validate.ts"

interface Group {
  readonly keyword: string
  readonly description: string
  readonly schema: JsonSchema
  readonly tests: readonly { readonly description: string; readonly data: Json; readonly valid: boolean }[]
}

/** Files of the suite that are skipped, and why. */
const leftOut: Readonly<Record<string, string>> = {
  boolean_schema: "the schema of a tool's arguments is an object",
  default: "the suite wants defaults to do nothing; ours are filled in, and checked like any value",
  defs: "needs the metaschema from the network",
  definitions: "needs the metaschema from the network",
  refRemote: "needs schemas from the network: none is ever loaded",
  dynamicRef: "not supported by the schema library; no schema of ours or of Zod uses it",
  format: "the suite wants formats to be remarks; ours are checked",
  vocabulary: "needs a metaschema from the network",
}

/** Single groups, by the beginning of their description. */
const leftOutGroups: Readonly<Record<string, string>> = {
  "remote ref, containing refs itself": "needs the metaschema from the network",
  "order of evaluation: $id and $anchor and $ref": "the schema library resolves an $anchor against the outer $id",
  "$ref prevents a sibling $id from changing the base uri": "the schema library heeds an $id beside a $ref",
  "unevaluatedItems with $dynamicRef": "see dynamicRef",
  "unevaluatedProperties with $dynamicRef": "see dynamicRef",
}

describe.each(["draft2020-12", "draft7"])("JSON Schema Test Suite, %s", (draft) => {
  const all = readGroups(draft)
  const asked = all.filter(({ keyword, description }) => !(keyword in leftOut) && !(description in leftOutGroups))
  const keywords = [...new Set(asked.map(({ keyword }) => keyword))]

  test.each(keywords)("argument validation agrees on %s", async (keyword) => {
    for (const { description, schema, tests } of asked.filter((group) => group.keyword === keyword)) {
      const tool = toolWith(
        draft === "draft7" ? { $schema: "http://json-schema.org/draft-07/schema#", ...schema } : schema,
      )
      for (const each of tests) {
        const { ok } = await validateInput(tool, each.data)
        expect(ok, `${description}: ${each.description}`).toBe(each.valid)
      }
    }
  })

  test("most of the JSON Schema suite is run", () => {
    const [part, whole] = [count(asked), count(all)]
    console.log(`JSON Schema Test Suite, ${draft}: ${part} of ${whole} cases, ${keywords.length} keywords`)
    expect(part).toBeGreaterThan(whole * 0.75)
  })
})

test("every keyword used by a built-in tool's schema is covered", () => {
  const asked = new Set(readGroups("draft2020-12").map(({ keyword }) => keyword))
  const silent = new Set(["description", "default"])
  const used = new Set(fileTools().flatMap(({ inputSchema }) => keywordsOf(inputSchema)))
  expect([...used].filter((keyword) => !silent.has(keyword) && (!asked.has(keyword) || keyword in leftOut))).toEqual([])
})

function toolWith(inputSchema: JsonSchema) {
  const tool = defineTool({ name: "tool", description: "A tool.", inputSchema: { type: "object" }, run: () => "" })
  // Those of the suite apply to any value, and would be rejected as a tool's schema.
  return { ...tool, inputSchema }
}

function readGroups(draft: string): readonly Group[] {
  const text = readFileSync(new URL(`json-schema-suite/${draft}.jsonl`, import.meta.url), "utf8")
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Group)
}

function count(groups: readonly Group[]): number {
  return groups.reduce((sum, { tests }) => sum + tests.length, 0)
}

/** Follows `properties` and `items`, the only nesting they use. */
function keywordsOf(schema: JsonSchema): readonly string[] {
  const inner = [...Object.values((schema.properties ?? {}) as Record<string, JsonSchema>)]
  if (schema.items !== undefined) inner.push(schema.items as JsonSchema)
  return [...Object.keys(schema), ...inner.flatMap(keywordsOf)]
}
