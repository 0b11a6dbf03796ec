import { appendFileSync } from "node:fs"
import type { RunEvent } from "../../src/contract/event.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run that pauses. `diesAt`: the type of the record after which it is killed. */
export interface Order {
  readonly what: "begin" | "decide" | "finish"
  readonly store: "fs" | "create-only"
  readonly root: string
  readonly workspace: string
  readonly ledger: string
  /** Size of the pending argument. */
  readonly bytes: number
  readonly diesAt?: RunEvent["type"]
}

const order = JSON.parse(process.argv[2] ?? "") as Order
const { what, store, root, workspace, ledger, bytes, diesAt } = order

const ship = defineTool<{ readonly load: string }>({
  name: "ship",
  description: "Ships.",
  inputSchema: { type: "object", properties: { load: { type: "string" } }, required: ["load"] },
  effect: "once",
  run({ load }, { idempotencyKey }) {
    appendFileSync(ledger, `${idempotencyKey} ${load.length}\n`)
    return "shipped"
  },
})
const step = (messages: readonly { readonly role: string }[]) =>
  messages.some(({ role }) => role === "assistant")
    ? "It is on its way."
    : { parts: [{ toolCall: { name: "ship", args: { load: "x".repeat(bytes) } } }] }
const runtime = createRuntime({
  store: store === "fs" ? fsStore(root) : createOnlyStore(root),
  workspace,
  model: scriptedModel([step, step]),
  tools: [ship],
  hooks: { gateBeforeTool: () => ({ allow: false, reason: "Shipping needs a person." }) },
})
const onEvent = ({ type }: RunEvent) => {
  if (type === diesAt) die()
}

if (what === "begin") tell(await runtime.run({ runId: "r", task: "Ship it.", onEvent }))
else if (what === "finish") tell(await runtime.resume({ runId: "r", onEvent }))
else {
  const { pause } = await runtime.status("r")
  process.send?.("ready")
  await new Promise((resolve) => process.once("message", resolve))
  const { ticket = "" } = pause?.pendingToolCall ?? {}
  tell(await runtime.resume({ runId: "r", decision: "approve", ticket, onEvent }))
}
// Until it is killed.
setInterval(() => {}, 1_000)

function tell({ status, text, error }: RunResult): void {
  process.send?.({ status, text, error })
}

function die(): never {
  process.kill(process.pid, "SIGKILL")
  for (;;);
}
