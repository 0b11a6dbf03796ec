import { expect, test } from "vitest"
import type { ArtifactStore } from "../src/contract/artifacts.ts"
import type { RunEvent } from "../src/contract/event.ts"
import type { Policy, PolicyService } from "../src/contract/policy.ts"
import type { ToolContext } from "../src/contract/tool.ts"
import { createRuntime } from "../src/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const SECRET = "123-45-6789"

const rule: Policy = { output: [{ block: { tool: "speak", pattern: "\\d{3}-\\d{2}-\\d{4}" }, reason: "A number." }] }
const service: Policy = {
  services: [
    {
      decide: async () => ({ decision: "allow" }),
      scan: async (_call, { text }) =>
        text.includes(SECRET) ? { decision: "block", reason: "A number." } : { decision: "allow" },
    } satisfies PolicyService,
  ],
}

/** Runs a tool once, and returns all that anyone received of it. */
async function received(policy: Policy, run: (context: ToolContext) => string, name = "speak") {
  const saved: string[] = []
  const artifacts: ArtifactStore = {
    save: async (_key, { bytes }) => {
      saved.push(new TextDecoder().decode(bytes))
      return "/artifacts/1"
    },
  }
  const model = scriptedModel([{ parts: [{ toolCall: { name, args: {} } }] }, "end"])
  const speak = defineTool({
    name,
    description: name,
    inputSchema: { type: "object" },
    run: (_: unknown, context) => run(context),
  })
  const runtime = createRuntime({ store: memoryStore(), model, tools: [speak], artifacts, policy })
  const events: RunEvent[] = []
  const result = await runtime.run({ task: "go", onEvent: (event) => events.push(event) })
  const records: unknown[] = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  return { all: JSON.stringify([saved, model.calls, events, result, records]), saved, events, result }
}

test.each([
  ["a rule", rule],
  ["a service", service],
])("a long output is scanned by %s before it is cut, and a blocked one is saved nowhere", async (_by, policy) => {
  const long = `${"x".repeat(400_000)} ${SECRET} ${"y".repeat(400_000)}`
  const { all, saved, result } = await received(policy, () => long)
  expect(all).not.toContain(SECRET)
  expect(all).not.toContain("xxxx")
  expect([saved, result.toolCalls[0]?.status, result.warnings]).toEqual([[], "error", []])
})

test("a long output that passes is saved as without a policy", async () => {
  const long = "x".repeat(400_000)
  const { saved, result } = await received(rule, () => long)
  expect([saved, result.toolCalls[0]?.status]).toEqual([[long], "ok"])
})

test.each([
  ["a rule", rule],
  ["a service", service],
])("the progress of a tool whose output is scanned by %s is not published", async (_by, policy) => {
  const { all } = await received(policy, ({ progress }) => {
    progress(`found ${SECRET}`)
    return "done"
  })
  expect(all).not.toContain(SECRET)
})

test("the progress of a tool to which no output rule applies is published", async () => {
  const run = ({ progress }: ToolContext) => {
    progress("half way")
    return "done"
  }
  const { events } = await received(rule, run, "other")
  expect(events).toContainEqual(expect.objectContaining({ type: "tool-progress", message: "half way" }))
})

test.each([
  [
    "throws at once",
    () => {
      throw new Error("down")
    },
  ],
  ["rejects", () => Promise.reject(new Error("down"))],
  ["returns nothing", () => undefined],
  ["returns an unknown verdict", async () => ({ decision: "ALLOW" })],
  ["denies", async () => ({ decision: "deny", reason: "no" })],
])("a service that %s about an output withholds it, and the run continues", async (_what, scan) => {
  // Safe: a service may be written in JavaScript.
  const broken = { decide: async () => ({ decision: "allow" }), scan } as unknown as PolicyService
  const { all, result } = await received({ services: [broken] }, () => SECRET)
  expect([result.status, result.toolCalls[0]?.status]).toEqual(["done", "error"])
  expect(all).not.toContain(SECRET)
})
