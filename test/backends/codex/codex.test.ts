import { expect, test } from "vitest"
import { defineTool } from "../../../src/tools/kernel/define-tool.ts"
import { call, createScene, once, recordsOf, shell } from "./scene.ts"

const tide = defineTool({
  name: "tide",
  description: "The next high water of a place.",
  input: { type: "object", properties: { place: { type: "string" } } },
  effect: "none",
  run: (args) => `High water in ${JSON.stringify(args)} is at 04:17.`,
})

test("codex: a run without tools returns the model's text, the usage and the backend", async () => {
  const scene = await createScene(() => "Hello from the model.")
  const runtime = scene.runtime()
  const result = await runtime.run({ task: "Say hello." })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", text: "Hello from the model.", turns: 1 })
  expect(result.usage.outputTokens).toBeGreaterThan(0)
  expect(scene.requests).toHaveLength(1)
})

test("codex: one own command and one of the runtime's tools run once each, and the model gets both results", async () => {
  const scene = await createScene(once(shell("expr 40 + 2; echo x >> ran.txt"), call("tide", { place: "Brest" })))
  const runtime = scene.runtime({ tools: [tide] })
  const result = await runtime.run({ task: "Go." })
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", turns: 2 })
  expect(result.text).toContain("42")
  expect(result.text).toContain('High water in {"place":"Brest"} is at 04:17.')
  expect(scene.lines("ran.txt")).toEqual(["x"])
  expect(result.toolCalls).toMatchObject([
    { name: "Bash", args: { command: "expr 40 + 2; echo x >> ran.txt" }, status: "ok", result: "42\n" },
    { name: "tide", status: "ok" },
  ])
  const intents = (await recordsOf(runtime, result.runId)).filter(({ type }) => type === "tool-intent")
  expect(intents).toHaveLength(1)
})
