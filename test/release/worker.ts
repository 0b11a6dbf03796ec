import { appendFileSync } from "node:fs"
import type { Message } from "../../src/contract/message.ts"
import { createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a deployment. It resumes runs that others released, and releases its own on SIGTERM. */
export interface Order {
  readonly root: string
  readonly workspace: string
  readonly ledger: string
  /** The runs that this process starts. */
  readonly starts: readonly string[]
  /** The number of effects of each run. */
  readonly effects: number
}

const { root, workspace, ledger, starts, effects } = JSON.parse(process.argv[2] ?? "") as Order

const ship = defineTool({
  name: "ship",
  description: "Ships.",
  inputSchema: { type: "object" },
  effect: "once",
  async run(_, { idempotencyKey }) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    appendFileSync(ledger, `${idempotencyKey}\n`)
    return "shipped"
  },
})

const step = async (messages: readonly Message[]) => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  const turns = messages.filter(({ role }) => role === "assistant").length
  return turns === effects ? "All shipped." : { parts: [{ toolCall: { name: "ship", args: { turns } } }] }
}

const runtime = createRuntime({
  store: fsStore(root),
  workspace,
  model: scriptedModel(Array(100_000).fill(step)),
  tools: [ship],
})

process.once("SIGTERM", async () => {
  await runtime.close({ release: true })
  process.exit(0)
})
for (const runId of starts) await runtime.start({ runId, task: "Ship everything." })
process.send?.("started")

/** Recovers like a host after a deployment. Another process may take a run first. */
for (;;) {
  // Not awaited: it watches the runs of other processes for as long as a lease.
  void runtime.recoverOrphanedRuns({ action: "resume" })
  const open = (await runtime.runs()).filter(({ status }) => status === "running" || status === "paused")
  if (starts.length === 0 && open.length === 0) break
  await new Promise((resolve) => setTimeout(resolve, 100))
}
await runtime.close()
process.exit(0)
