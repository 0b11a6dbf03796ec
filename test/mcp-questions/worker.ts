import type { RunEvent } from "../../src/contract/event.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { createOnlyStore, createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run whose MCP server asks. `dies`: the type of the record after which it is killed. */
export interface Order {
  readonly store: "fs" | "create-only"
  readonly root: string
  readonly workspace: string
  readonly url: string
  /** Absent: it begins the run. Null: it continues without an answer. */
  readonly answer?: string | null
  readonly dies?: RunEvent["type"]
}

const order = JSON.parse(process.argv[2] ?? "") as Order
const { store, root, workspace, url, answer, dies } = order

const step = (messages: readonly { readonly role: string }[]) =>
  messages.some(({ role }) => role === "tool")
    ? "Booked."
    : { parts: [{ toolCall: { name: "mcp__asking__book", args: {} } }] }
const runtime = createRuntime({
  store: store === "fs" ? fsStore(root) : createOnlyStore(root),
  workspace,
  model: scriptedModel([step, step]),
  tools: [],
  mcpServers: { asking: { url } },
})
const onEvent = ({ type }: RunEvent) => {
  if (type === dies) die()
}

if (answer === undefined) tell(await runtime.run({ runId: "r", task: "Book it.", onEvent }))
else if (answer === null) tell(await runtime.resume({ runId: "r", onEvent }))
else tell(await runtime.resume({ runId: "r", answer, onEvent }))
// Until it is killed.
setInterval(() => {}, 1_000)

function tell({ status, text, error, toolCalls, pause }: RunResult): void {
  process.send?.({ status, text, error, call: toolCalls[0]?.status, question: pause?.pendingToolCall?.question })
}

function die(): never {
  process.kill(process.pid, "SIGKILL")
  for (;;);
}
