import { expect, test } from "vitest"
import { createRuntime } from "../index.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

test("a background run that cannot start is reported with its id, its node and the error", async () => {
  const runtime = createRuntime({ store: memoryStore(), model: scriptedModel(["Done."]) })
  await runtime.run({ task: "x", runId: "r" })
  expect(await runtime.start({ task: "x", runId: "r" })).toMatchObject({
    ...{ runId: "r", nodeId: "main", status: "failed", error: { code: "run_active" } },
  })
})

test("of two processes that cancel a paused run at once, one has cancelled it", async () => {
  const store = memoryStore()
  const send = defineTool({ name: "send", description: "Sends.", inputSchema: { type: "object" }, run: () => "sent" })
  const model = () => scriptedModel([{ parts: [{ toolCall: { name: "send", args: {} } }] }])
  const policy = { rules: [{ ask: { tool: "*" } }], ask: "pause" } as const
  const processes = [0, 1, 2].map(() => createRuntime({ store, model: model(), policy, tools: [send] }))
  const [first, ...others] = processes
  expect(await first?.run({ task: "x", runId: "r" })).toMatchObject({ status: "paused" })
  const cancelled = await Promise.all(others.map((runtime) => runtime.cancel("r")))
  expect(cancelled.toSorted()).toEqual([false, true])
  expect(await first?.status("r")).toMatchObject({ status: "cancelled" })
})
