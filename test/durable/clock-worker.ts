import { writeSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { anthropic, createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import type { ClockOrder } from "./clock-order.ts"

/** One process whose clock the test sets. It reports its own times on a clock that is not changed. */
const order = JSON.parse(process.argv[2] ?? "") as ClockOrder
const tell = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`)
const begun = { clock: Date.now(), time: performance.now() }

/** How far the clock moved beyond the elapsed time. */
const jumped = () => Date.now() - begun.clock - (performance.now() - begun.time)
const DAY_MS = 86_400_000

const { root, workspace } = order
const work = defineTool({
  name: "work",
  description: "works",
  inputSchema: { type: "object" },
  async run() {
    tell({ works: true })
    if (order.role !== "owner") return "worked"
    if (order.until === "jump") while (Math.abs(jumped()) < DAY_MS) await pause(20)
    await pause(order.stepMs)
    return "worked"
  },
})
const steps = order.role === "owner" ? order.steps : 0
const call = { parts: [{ toolCall: { name: "work", args: {} } }] }
const runtime = createRuntime({
  store: fsStore(root),
  workspace,
  tools: [work],
  model:
    order.role === "caller"
      ? anthropic({ model: "claude-test", apiKey: "key", baseUrl: order.url })
      : scriptedModel([...Array.from({ length: steps }, () => call), "Done."]),
  // It is unknown whether such an owner is dead.
  owner: {},
  fetch: (...given) => {
    tell({ asked: performance.now() })
    return fetch(...given)
  },
})

switch (order.role) {
  case "owner":
    tell({ state: await runtime.run({ task: "Work.", runId: order.runId }) })
    break
  case "caller":
    tell({ state: await runtime.run({ task: "Work.", runId: "r", limits: { timeMs: 60_000 } }) })
    break
  case "watcher":
    tell({ watches: true })
    tell({ taken: await runtime.recoverOrphanedRuns({ staleMs: order.staleMs }) })
    break
  case "resumer": {
    const resume = async () => tell({ resumed: (await runtime.resume({ runId: order.runId })).error?.code ?? null })
    await resume()
    while (Math.abs(jumped()) < DAY_MS) await pause(20)
    await resume()
    break
  }
}
tell({ jumped: Math.round(jumped() / DAY_MS) })
