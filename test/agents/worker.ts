import { appendFileSync } from "node:fs"
import type { RunEvent } from "../../src/contract/event.ts"
import type { Message } from "../../src/contract/message.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { plainText } from "../../src/lib/content.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run with agents, one of which pauses. `diesAt`: a record of the run (``) or of an agent, which kills it. */
export interface Order {
  readonly what: "begin" | "decide" | "finish"
  readonly store: "fs" | "create-only"
  readonly root: string
  readonly workspace: string
  readonly ledger: string
  readonly diesAt?: { readonly agent: string; readonly type: RunEvent["type"] }
}

const order = JSON.parse(process.argv[2] ?? "") as Order
const { what, store, root, workspace, ledger, diesAt } = order

const tool = (name: string) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
    effect: "once",
    concurrent: true,
    run(_, { idempotencyKey }) {
      appendFileSync(ledger, `${name} ${idempotencyKey}\n`)
      return "done"
    },
  })
const agent = (prompt: string) => ({ toolCall: { name: "Agent", args: { description: prompt, prompt } } })
const scripts: Record<string, readonly unknown[]> = {
  "Ship it.": [{ parts: [agent("shipper"), agent("payer"), agent("payer")] }],
  shipper: [{ parts: [{ toolCall: { name: "ship", args: {} } }] }],
  payer: [{ parts: [{ toolCall: { name: "pay", args: {} } }] }],
}
const step = (messages: readonly Message[]) => {
  const [first] = messages
  const script = scripts[first?.role === "user" ? plainText(first.content, "") : ""]
  // Safe: the scripts above are answers.
  return (script?.[messages.filter(({ role }) => role === "assistant").length] ?? "It is on its way.") as string
}
const runtime = createRuntime({
  store: store === "fs" ? fsStore(root) : createOnlyStore(root),
  workspace,
  model: scriptedModel(Array(100).fill(step)),
  tools: [tool("ship"), tool("pay")],
  agents: {},
  hooks: { gateBeforeTool: (name) => (name === "ship" ? { allow: false, reason: "Ask." } : { allow: true }) },
})
const onEvent = ({ type, agent: of = "" }: RunEvent) => {
  if (type === diesAt?.type && of === diesAt.agent) die()
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
