import { join } from "node:path"
import { createRuntime, fsStore } from "../../../src/hosts/node/index.ts"
import { counting } from "../../../src/testing/backend-bench.ts"
import type { PlaceFacts } from "../../support/backend-place.ts"
import { placedBackends } from "../benches.ts"

/** What a process of the hunt works on. */
export interface Order extends PlaceFacts {
  readonly base: string
  readonly backend: string
}

// Safe: written by the test.
const order = JSON.parse(process.argv[2] ?? "") as Order
process.env.LONGHAUL_STORE = join(order.base, "state")
const placed = placedBackends.find(({ name }) => name === order.backend)
if (placed === undefined) throw new Error(`There is no backend ${order.backend}`)
const { tool } = counting("send", "repeatable")
const slow = {
  ...tool,
  run: (args: unknown, context: Parameters<typeof tool.run>[1]) =>
    new Promise((resolve) => setTimeout(() => resolve(tool.run(args, context)), 300)),
}
const runtime = createRuntime({
  workspace: order.workspace,
  store: fsStore(join(order.base, "state")),
  tools: [slow],
  policy: { mode: "auto" },
  ...placed.configure(order),
})
process.once("SIGTERM", () => void runtime.close().then(() => process.exit(0)))
const result = await runtime.run({ task: "Send letters." })
await runtime.close()
console.log(result.status)
