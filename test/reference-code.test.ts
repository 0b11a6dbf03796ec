import { expect, test } from "vitest"
import { claudeHooks } from "../src/enforce/claude-agent-sdk.ts"
import { createRuntime } from "../src/index.ts"
import { toolPolicy } from "../src/policy/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

/** One call of Bash or Write, in plain JavaScript's types. */
async function callOf(name: string, args: Record<string, string>, config: object) {
  const ran: string[] = []
  const tool = defineTool({
    name,
    description: name,
    inputSchema: { type: "object" },
    risk: "high",
    run: () => {
      ran.push(name)
      return "ran"
    },
  })
  const model = scriptedModel([{ parts: [{ toolCall: { name, args } }] }, "Done."])
  const runtime = createRuntime({ model, store: memoryStore(), tools: [tool], ...(config as object) })
  return { ran, result: await runtime.run({ task: "x" }) }
}

test("a gate that is written with the tool's name as its first argument holds", async () => {
  const gateBeforeTool = (toolName: string) =>
    toolName === "Write" ? { allow: false, reason: "human approval" } : { allow: true }
  const { ran, result } = await callOf("Write", {}, { hooks: { gateBeforeTool }, policy: { preApproved: ["Write"] } })
  expect(ran).toEqual([])
  expect(result).toMatchObject({ status: "paused" })
})

test("a gate that gives no reason asks about the tool by its name", async () => {
  const gateBeforeTool = () => ({ allow: false })
  const { ran, result } = await callOf("Write", {}, { hooks: { gateBeforeTool }, policy: { preApproved: ["Write"] } })
  expect(ran).toEqual([])
  expect(result.data).toMatchObject({ question: "Write needs approval." })
})

test("an approval callback that reads toolName, toolUseId, argumentsSummary and riskTier decides as it is written", async () => {
  const asked: object[] = []
  const onAsk = async (request: { toolName: string; argumentsSummary: string }) => {
    asked.push(request)
    if (request.toolName === "Bash" && request.argumentsSummary.includes("rm -rf")) {
      return { decision: "deny", reason: "destructive" }
    }
    return { decision: "approve" }
  }
  const long = `echo ${"x".repeat(100_000)}; rm -rf /data`
  const denied = await callOf("Bash", { command: long }, { policy: { onAsk } })
  expect(denied.ran).toEqual([])
  expect(asked).toMatchObject([{ toolName: "Bash", riskTier: "high", toolUseId: "1.0" }])
  const allowed = await callOf("Bash", { command: "ls" }, { policy: { onAsk } })
  expect(allowed.ran).toEqual(["Bash"])
})

test("the result of claudeHooks in place of the SDK's map of hooks is refused, not ignored", () => {
  const enforcement: object = claudeHooks(toolPolicy({ rules: [{ deny: { tool: "*" } }] }, { workspace: "." }))
  // As the SDK reads its option `hooks`.
  const read = () => Object.values(enforcement).map((matchers) => (matchers?.length > 0 ? matchers.map(String) : []))
  expect(read).toThrow("claudeHooks was passed as `hooks`")
})

test("an entry of a chain with a key of another library is refused, not run on native", async () => {
  const runtime = createRuntime({ model: scriptedModel(["Done."]), store: memoryStore() })
  const result = await runtime.run({ task: "x", chain: [{ sdk: "claude" }] as never })
  expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
})
