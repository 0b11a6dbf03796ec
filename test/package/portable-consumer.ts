import { createRuntime, defineTool, LonghaulError, type RunEvent, type RunResult } from "longhaul"
import { anthropic } from "longhaul/providers/anthropic"
import { scriptedModel } from "longhaul/testing"

/** Compiled against the installed package with strict settings, every declaration checked, and no Node types. */
const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  effect: "none",
  run: ({ a, b }, { signal }) => (signal.aborted ? 0 : Number(a) + Number(b)),
})

export async function consume(): Promise<RunResult> {
  await using runtime = createRuntime({ model: scriptedModel(["fine"]), tools: [add], limits: { turns: 5 } })
  const handle = runtime.stream({ task: "2 + 3?", model: anthropic({ model: "claude-sonnet-4-6", apiKey: "key" }) })
  for await (const event of handle) if (event.type === "text-delta") event.delta.toUpperCase()
  const events: RunEvent[] = []
  const result = await runtime.run({ task: "x", onEvent: (event) => events.push(event) })
  if (result.error?.code === "rate_limited") throw new LonghaulError(result.error.code, result.error.message)
  return result
}
