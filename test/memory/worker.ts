import type { AppendFile, Folder, Store } from "../../src/contract/store.ts"
import { memory } from "../../src/extensions/memory/index.ts"
import { createOnlyStore, createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

/** One process of a run that remembers 12 lessons, three at a time. */
export interface Order {
  readonly store: "fs" | "create-only"
  readonly root: string
  /** Killed before or after its n-th write. Absent: never. */
  readonly dies?: { readonly when: "before" | "after"; readonly write: number }
}

const order = JSON.parse(process.argv[2] ?? "") as Order // Safe: the test writes it.
const { root, dies } = order
let writes = 0

const memorize = (number: number) => ({ toolCall: { name: "Memorize", args: { text: `Lesson ${number}.` } } })
const steps = [0, 3, 6, 9].map((first) => ({ parts: [1, 2, 3].map((more) => memorize(first + more)) }))
const results = (messages: readonly { readonly role: string }[]) =>
  messages.filter(({ role }) => role === "tool").length
const step = (messages: readonly { readonly role: string }[]) => steps[results(messages)] ?? "Done."
const runtime = createRuntime({
  store: mortal(order.store === "fs" ? fsStore(root) : createOnlyStore(root)),
  workspace: root,
  env: {},
  model: scriptedModel([step, step, step, step, step]),
  extensions: [memory({ mode: "read-write" })],
})
const { status } = await runtime.status("r")
const task = "Learn."
const result = await (status === "not_found" ? runtime.run({ runId: "r", task }) : runtime.resume({ runId: "r" }))
// One that was done before the process was killed cannot be resumed.
process.send?.(status === "done" ? { status } : { status: result.status, error: result.error })
await runtime.close()
process.disconnect?.()

/** A store whose process is killed around one of its writes. */
function mortal(inner: Store): Store {
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    if (++writes !== dies?.write) return work()
    if (dies.when === "before") die()
    return work().finally(die)
  }
  const file = (appended: AppendFile): AppendFile => ({
    stands: () => appended.stands(),
    close: () => appended.close(),
    write: (bytes) => around(() => appended.write(bytes)),
  })
  const folder = (inside: Folder): Folder => ({
    ...inside,
    create: (name, bytes) => around(() => inside.create(name, bytes)),
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
