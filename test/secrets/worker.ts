import { appendFileSync } from "node:fs"
import { createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run that pauses before a call with secrets. */
export interface Order {
  readonly what: "begin" | "approve" | "begin-and-approve"
  readonly store: string
  readonly ledger: string
  readonly secrets: Readonly<Record<string, string>>
  /** The argument that the model writes. */
  readonly command: string
  /** The argument that the person writes instead. */
  readonly edited?: string
}

const { what, store, ledger, secrets, command, edited } = JSON.parse(process.argv[2] ?? "") as Order

const deploy = defineTool<{ readonly command: string }>({
  name: "deploy",
  description: "Deploys.",
  inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  effect: "once",
  run({ command }) {
    appendFileSync(ledger, `${command}\n`)
    return `ran ${command}`
  },
})
const step = (messages: readonly { readonly role: string }[]) =>
  messages.some(({ role }) => role === "tool")
    ? "Done."
    : { parts: [{ toolCall: { name: "deploy", args: { command } } }] }
const runtime = createRuntime({
  store: fsStore(store),
  env: {},
  model: scriptedModel([step, step]),
  tools: [deploy],
  secrets,
  hooks: {
    gateBeforeTool: (_, { edited }) =>
      edited ? { allow: true } : { allow: false, reason: `Who deploys with ${command}?` },
  },
})

const paused = what === "approve" ? await runtime.status("r") : await runtime.run({ runId: "r", task: "Deploy." })
const { ticket = "" } = paused.pause?.pendingToolCall ?? {}
const args = edited === undefined ? {} : { args: { command: edited } }
const ended = what === "begin" ? paused : await runtime.resume({ runId: "r", decision: "approve", ticket, ...args })
process.send?.(ended)
