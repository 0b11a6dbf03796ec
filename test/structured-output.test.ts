import { createAnthropic } from "@ai-sdk/anthropic"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { createRuntime, type Json, type JsonSchema } from "../src/index.ts"
import { fromAiSdk } from "../src/providers/ai-sdk/index.ts"
import { createSimulator } from "../src/testing/index.ts"
import { providersUnderTest } from "./support/providers-under-test.ts"

/** A schema with a matching value and a mismatching one. */
interface Sample {
  readonly schema: JsonSchema
  readonly good: Json
  readonly bad: Json
}

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const leaf: fc.Arbitrary<Sample> = fc.oneof(
  fc.record({ good: fc.string(), bad: fc.integer() }).map((values) => ({ schema: { type: "string" }, ...values })),
  fc.record({ good: fc.integer(), bad: fc.string() }).map((values) => ({ schema: { type: "integer" }, ...values })),
  fc.boolean().map((good) => ({ schema: { type: "boolean" }, good, bad: null })),
  fc
    .uniqueArray(word, { minLength: 2, maxLength: 4 })
    .map((words) => ({ schema: { type: "string", enum: words }, good: words[0] ?? "", bad: `${words.join("")}-` })),
  word.map((good) => ({ schema: { anyOf: [{ type: "string" }, { type: "null" }] }, good, bad: 7 })),
)
const sample: fc.Arbitrary<Sample> = fc.letrec<{ any: Sample; object: Sample; list: Sample }>((tie) => ({
  any: fc.oneof({ maxDepth: 2, withCrossShrink: true }, leaf, tie("object"), tie("list")),
  object: fc
    .uniqueArray(fc.tuple(word, tie("any")), { minLength: 1, maxLength: 4, selector: ([name]) => name })
    .map((entries) => ({
      schema: {
        type: "object",
        properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
        required: entries.map(([name]) => name),
      },
      good: Object.fromEntries(entries.map(([name, { good }]) => [name, good])),
      bad: Object.fromEntries(entries.map(([name, each], index) => [name, index === 0 ? each.bad : each.good])),
    })),
  list: fc.tuple(tie("any"), fc.integer({ min: 1, max: 3 })).map(([{ schema, good, bad }, count]) => ({
    schema: { type: "array", items: schema },
    good: Array<Json>(count).fill(good),
    bad: [...Array<Json>(count).fill(good), bad],
  })),
})).object
const count = Number(process.env.LONGHAUL_SCHEMAS ?? 40)
const samples = fc.sample(sample, { numRuns: count, seed: 20_261_115 })

const answers: readonly { readonly kind: string; answer(sample: Sample): string }[] = [
  { kind: "valid", answer: ({ good }) => JSON.stringify(good) },
  { kind: "invalid", answer: ({ bad }) => JSON.stringify(bad) },
  {
    kind: "wrapped in prose",
    answer: ({ good }) => `Of course!\n\n\`\`\`json\n${JSON.stringify(good, null, 2)}\n\`\`\`\nAll right?`,
  },
  { kind: "truncated", answer: ({ good }) => JSON.stringify(good).slice(0, -1) },
]

/** Another library's opinion on whether a value matches. */
const fits = (schema: JsonSchema, value: Json) => z.fromJSONSchema(schema as never).safeParse(value).success

test("another library confirms which samples match their schema", () => {
  for (const { schema, good, bad } of samples) {
    expect(fits(schema, good), JSON.stringify({ schema, good })).toBe(true)
    expect(fits(schema, bad), JSON.stringify({ schema, bad })).toBe(false)
  }
})

const throughAiSdk = {
  name: "an AI SDK model",
  model: (given: typeof fetch) => fromAiSdk(createAnthropic({ apiKey: "key", fetch: given })("claude-sonnet-4-6")),
}

describe.each([...providersUnderTest, throughAiSdk])("$name", ({ model }) => {
  test.each(answers)(
    `${count} schemas, $kind: strict never returns a mismatch, forward reports the source`,
    { tags: ["SO-02"] },
    async ({ kind, answer }) => {
      const counts = { strict: { done: 0, failed: 0 }, forward: {} as Record<string, number> }
      for (const each of samples) {
        const text = answer(each)
        for (const outputMode of ["strict", "forward"] as const) {
          const simulator = createSimulator({ script: () => text })
          const runtime = createRuntime({ model: model(simulator.fetch) })
          const result = await runtime.run({ task: "Answer", outputSchema: each.schema, outputMode })
          if (outputMode === "strict") {
            if (result.status === "done") expect(fits(each.schema, result.data), JSON.stringify(result.data)).toBe(true)
            else expect(result).toMatchObject({ data: null, error: { code: expect.stringMatching(/^output_/) } })
            counts.strict[result.status === "done" ? "done" : "failed"]++
          } else {
            const source = result.structuredSource ?? "unsaid"
            counts.forward[source] = (counts.forward[source] ?? 0) + 1
            const fitting = ["provider", "text", "extracted"].includes(source)
            expect(fitting, `${source}: ${JSON.stringify(result.data)}`).toBe(fits(each.schema, result.data))
            if (source === "raw") expect(result.data).toBe(text)
          }
        }
      }
      const expected =
        kind === "valid" || kind === "wrapped in prose" ? { done: count, failed: 0 } : { done: 0, failed: count }
      expect(counts.strict).toEqual(expected)
      expect(counts.forward.unsaid).toBeUndefined()
      console.log(
        `structured output, ${kind}: strict ${JSON.stringify(counts.strict)}, forward ${JSON.stringify(counts.forward)}`,
      )
    },
  )
})
