import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { type ApiMethod, api } from "../../src/extensions/api/index.ts"
import { createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run that makes one call. */
export interface Order {
  readonly what: "begin" | "resume"
  readonly root: string
  readonly url: string
  readonly method: ApiMethod
  readonly idempotencyHeader?: string
  /** When it is killed: after its call was sent, or after the service has answered. Nothing of the outcome is recorded then. */
  readonly dies?: "sent" | "answered"
}

export interface Told {
  readonly status: string
  readonly call: string | undefined
}

const order = JSON.parse(process.argv[2] ?? "") as Order // Safe: the test writes it.
const { what, root, url, method, idempotencyHeader, dies } = order
const die = () => process.kill(process.pid, "SIGKILL")

mkdirSync(join(root, "workspace"), { recursive: true })
const runtime = createRuntime({
  store: fsStore(join(root, "store")),
  workspace: join(root, "workspace"),
  model: scriptedModel([
    (messages) =>
      messages.some(({ role }) => role === "tool")
        ? "Done."
        : {
            parts: [
              { toolCall: { name: "ApiCall", args: { service: "pay", method, path: "/payments", body: { usd: 5 } } } },
            ],
          },
    "Done.",
  ]),
  policy: { mode: "auto" },
  extensions: [
    api({
      services: { pay: { baseUrl: url, allowedMethods: [method], ...(idempotencyHeader && { idempotencyHeader }) } },
      onResponse: () => dies === "answered" && die(),
    }),
  ],
})
// The service asks for it when it has the request.
if (dies === "sent") process.on("message", die)
const result = await (what === "begin" ? runtime.run({ runId: "r", task: "Pay." }) : runtime.resume({ runId: "r" }))
process.send?.({ status: result.status, call: result.toolCalls[0]?.status } satisfies Told)
await runtime.close()
process.disconnect?.()
