import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { Permit } from "../src/contract/backend.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { Json, JsonObject } from "../src/contract/json.ts"
import { createAgentTools } from "../src/hosts/node/index.ts"
import { createRuntime } from "../src/index.ts"
import { toolPolicy } from "../src/policy/local.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { actingBackend } from "./support/acting-backend.ts"

const workspace = mkdtempSync(join(tmpdir(), "longhaul-large-"))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))

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

const ruled = { rules: [{ deny: { tool: "*", path: "secrets/**" } }], mode: "auto" } as const

test.each(
  large.flatMap(([name, argsOf]) =>
    [undefined, ruled].map((policy) => [name, policy ? "with" : "without", argsOf, policy] as const),
  ),
)(
  "a call with %s of a host with its own loop is refused %s a policy, and the tool does not run",
  async (_, __, argsOf, policy) => {
    const ran: unknown[] = []
    const put = defineTool({
      name: "put",
      description: "Puts.",
      inputSchema: { type: "object" },
      run: (args) => ran.push(args),
    })
    await using tools = createAgentTools({ root: workspace, tools: [put], ...(policy && { policy }) })
    for (const name of ["put", "List"]) {
      const { isError, text } = await tools.callTool(name, argsOf())
      expect(isError).toBe(true)
      expect(text).toMatch(/more than \d+ (keys and entries|characters)/)
    }
    expect(ran).toEqual([])
  },
)

test.each(large)("a policy for tools of other software refuses a call with %s", async (_, argsOf) => {
  const policy = toolPolicy({ mode: "auto" }, { workspace })
  const toolInput = argsOf() as JsonObject // Safe: each is an object.
  const verdict = await policy.preTool({ sessionId: "s", toolName: "put", toolInput, cwd: workspace })
  expect(verdict).toMatchObject({ decision: "deny", reason: expect.stringMatching(/more than \d+/) })
})

test.each(large)(
  "a vendor's own call with %s is recorded without its arguments, and does not run",
  async (_, argsOf) => {
    const own = { name: "Put", nativeName: "vendor_put", effect: "once", risk: "low" } as const
    const permits: Permit[] = []
    const backend = actingBackend(async (host) => {
      const call = { callId: "1", name: "Put", args: argsOf() }
      host.emit({ type: "tool-call", turn: 1, ...call, executor: "backend" })
      permits.push(await host.authorize(call, own))
    })
    const runtime = createRuntime({ backend, store: memoryStore() })
    const result = await runtime.run({ task: "x", runId: "r" })
    const recorded: RunRecord[] = []
    for await (const record of runtime.events("r")) recorded.push(record)
    expect(recorded.filter(({ type }) => type === "tool-call")).toMatchObject([
      { callId: "1", name: "Put", args: null },
    ])
    expect(JSON.stringify(recorded).length).toBeLessThan(10_000)
    expect(result.toolCalls).toMatchObject([{ name: "Put", args: null }])
    expect(permits).not.toContainEqual(expect.objectContaining({ kind: "run" }))
  },
)

test("ordinary long arguments run", async () => {
  const put = defineTool({ name: "put", description: "Puts.", inputSchema: { type: "object" }, run: () => "put" })
  const args = { text: "x".repeat(100_000), rows: many(5000, (index) => index) }
  const model = scriptedModel([{ parts: [{ toolCall: { name: "put", args } }] }, "Done."])
  const result = await createRuntime({ model, store: memoryStore(), tools: [put] }).run({ task: "x" })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
})
