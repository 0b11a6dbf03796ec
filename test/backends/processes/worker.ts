import { appendFileSync } from "node:fs"
import { join } from "node:path"
import type { RunInput } from "../../../src/contract/run.ts"
import { createRuntime, fsStore } from "../../../src/hosts/node/index.ts"
import { counting } from "../../../src/testing/backend-bench.ts"
import type { PlaceFacts } from "../../support/backend-place.ts"
import { allBackends } from "../benches.ts"

/** What one process does. */
export interface Order extends PlaceFacts {
  readonly base: string
  readonly backend: string
  readonly runId?: string
  /** Tools that pause the run. Default: none. */
  readonly ask?: string
  /** Approves the pending call of the run. */
  readonly approve?: boolean
  /** Stays alive when the run has paused, until it is killed. */
  readonly hangs?: boolean
  /** Dies at once by any signal, as a program without handlers does. */
  readonly hasNoHandlers?: boolean
  /** How long the tool takes. */
  readonly toolMs?: number
}

// Safe: written by the test.
const order = JSON.parse(process.argv[2] ?? "") as Order
process.env.LONGHAUL_STORE = join(order.base, "state")
const placed = allBackends.find(({ name }) => name === order.backend)
if (placed === undefined) throw new Error(`There is no backend ${order.backend}`)
const { tool } = counting()
const recorded = {
  ...tool,
  async run(args: unknown, context: Parameters<typeof tool.run>[1]) {
    appendFileSync(join(order.base, "effects"), `${context.callId}\n`)
    await new Promise((resolve) => setTimeout(resolve, order.toolMs ?? 0))
    return tool.run(args, context)
  },
}
const runtime = createRuntime({
  workspace: order.workspace,
  store: fsStore(join(order.base, "state")),
  tools: [recorded],
  policy: { mode: "auto", ...(order.ask !== undefined && { rules: [{ ask: { tool: order.ask }, via: "pause" }] }) },
  ...placed.configure(order),
})
if (!order.hasNoHandlers) process.once("SIGTERM", () => void runtime.close().then(() => process.exit(0)))
const runId: RunInput["runId"] = order.runId
const result =
  order.approve && runId !== undefined
    ? await runtime.resume({ runId, decision: "approve" })
    : await runtime.run({ task: "Send letters.", ...(runId !== undefined && { runId }) })
console.log(JSON.stringify(result))
if (order.hangs) await new Promise(() => setInterval(() => {}, 1000))
await runtime.close()
