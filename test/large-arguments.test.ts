import { expect, test } from "vitest"
import type { Json } from "../src/contract/json.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const many = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index))

/** Each took the process seconds to check, mask, hash and record. */
const large: readonly (readonly [string, () => Json])[] = [
  ["200,000 keys", () => Object.fromEntries(many(200_000, (index) => [`k${index}`, index]))],
  ["a million entries", () => ({ list: many(1_000_000, (index) => index) })],
  [
    "many keys at many places",
    () => ({ list: many(300, () => Object.fromEntries(many(300, (key) => [`k${key}`, 1]))) }),
  ],
  ["a text of 20 million characters", () => ({ text: "x".repeat(20_000_000) })],
]

test.each(large)(
  "a call with %s is refused, recorded without its arguments, and the run goes on",
  async (_, argsOf) => {
    const ran: unknown[] = []
    const put = defineTool({
      name: "put",
      description: "Puts.",
      inputSchema: { type: "object" },
      run: (args) => ran.push(args),
    })
    const model = scriptedModel([{ parts: [{ toolCall: { name: "put", args: argsOf() } }] }, "Done."])
    const runtime = createRuntime({ model, store: memoryStore(), tools: [put] })
    const result = await runtime.run({ task: "x", runId: "r" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "error", args: null }] })
    expect(result.toolCalls[0]?.result).toMatch(/more than \d+ (keys and entries|characters)/)
    expect(ran).toEqual([])
  },
)

test("ordinary long arguments run", async () => {
  const put = defineTool({ name: "put", description: "Puts.", inputSchema: { type: "object" }, run: () => "put" })
  const args = { text: "x".repeat(100_000), rows: many(5000, (index) => index) }
  const model = scriptedModel([{ parts: [{ toolCall: { name: "put", args } }] }, "Done."])
  const result = await createRuntime({ model, store: memoryStore(), tools: [put] }).run({ task: "x" })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
})
