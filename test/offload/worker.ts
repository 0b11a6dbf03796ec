import { randomUUID } from "node:crypto"
import type { Message } from "../../src/contract/message.ts"
import type { AppendFile, Folder, Store } from "../../src/contract/store.ts"
import type { Effect } from "../../src/contract/tool.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../../src/hosts/node/index.ts"
import { plainText } from "../../src/lib/content.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run whose tool returns another long text each time. */
export interface Order {
  readonly what: "begin" | "resume"
  readonly store: "fs" | "create-only"
  readonly root: string
  readonly effect: Effect
  /** True if its runtime has the setting. */
  readonly offload: boolean
  /** When it is killed: around the file of the result, or around the record that names it. */
  readonly dies?: { readonly when: "before" | "after"; readonly at: "file" | "record" }
}

/** What the model received in the end. */
export interface Told {
  readonly status: string
  readonly call: string | undefined
  readonly preview: string
  readonly fetched: string
}

const order = JSON.parse(process.argv[2] ?? "") as Order // Safe: the test writes it.
const { what, root, effect, dies } = order

const big = defineTool({
  name: "big",
  description: "Returns another long text each time.",
  inputSchema: { type: "object" },
  effect,
  run: () => `${randomUUID()} ${"x".repeat(10_000)}`,
})
const results = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.content.map(({ output }) => plainText(output, "\n")) : [],
  )
let told: readonly string[] = []
const step = (messages: readonly Message[]) => {
  told = results(messages)
  if (told.length === 0) return { parts: [{ toolCall: { name: "big", args: {} } }] }
  return told.length === 1 ? { parts: [{ toolCall: { name: "FetchData", args: { ref: "1.0" } } }] } : "Done."
}

const runtime = createRuntime({
  store: mortal(order.store === "fs" ? fsStore(root) : createOnlyStore(root)),
  workspace: root,
  env: {},
  model: scriptedModel([step, step, step]),
  tools: [big],
  policy: { mode: "auto" },
  compaction: { offload: order.offload },
})
const result = await (what === "begin" ? runtime.run({ runId: "r", task: "Go." }) : runtime.resume({ runId: "r" }))
const [preview = "", fetched = ""] = told
process.send?.({ status: result.status, call: result.toolCalls[0]?.status, preview, fetched } satisfies Told)
await runtime.close()
process.disconnect?.()

/** A store whose process is killed at one moment. */
function mortal(inner: Store): Store {
  const around = async <T>(at: "file" | "record" | undefined, work: () => Promise<T>): Promise<T> => {
    if (at === undefined || dies?.at !== at) return work()
    if (dies.when === "before") die()
    return work().finally(die)
  }
  const names = (bytes: Uint8Array) => (new TextDecoder().decode(bytes).includes('"stored":') ? "record" : undefined)
  const file = (appended: AppendFile): AppendFile => ({
    stands: () => appended.stands(),
    close: () => appended.close(),
    write: (bytes) => around(names(bytes), () => appended.write(bytes)),
  })
  const folder = (inside: Folder): Folder => ({
    ...inside,
    create: (name, bytes) =>
      around(name.startsWith("toolResults/") ? "file" : names(bytes), () => inside.create(name, bytes)),
    ...(inside.append && {
      append: {
        ...inside.append,
        open: async (name, first) => {
          const opened = await inside.append?.open(name, first)
          return opened ? file(opened) : null
        },
      },
    }),
  })
  return { ...inner, folder: (path) => folder(inner.folder(path)) }
}

function die(): never {
  process.kill(process.pid, "SIGKILL")
  for (;;);
}
