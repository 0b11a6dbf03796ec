import { createRuntime } from "../../src/hosts/node/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** A process with a run that calls tools of a stubborn MCP server until it is killed, or a few times. */
const [program = "", settings = "", workspace = "", calls = "0"] = process.argv.slice(2)
const step = { parts: [{ toolCall: { name: "mcp__scene__echo", args: { text: "x" } } }] }
const steps = [...Array.from({ length: Number(calls) }, () => step), "done"]
const runtime = createRuntime({
  model: scriptedModel(steps),
  store: memoryStore(),
  workspace,
  tools: [],
  mcpServers: { scene: { command: process.execPath, args: [program, settings], required: true } },
  limits: { turns: 100_000 },
  deadlines: { stopMs: 200 },
})
const { status, error } = await runtime.run({ task: "x" })
await runtime.close()
if (status !== "done") throw new Error(error?.message)
