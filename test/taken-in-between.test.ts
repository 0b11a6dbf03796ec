import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Folder, Store } from "../src/contract/store.ts"
import { createRuntime, defineTool, fsStore } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { shardName } from "../src/journal/paths.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { toolCall } from "./support/tenant-scene.ts"

const base = mkdtempSync(join(tmpdir(), "longhaul-between-"))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Higher than any Linux pid: no process has it. */
const deadOwner = { ...processOwner(), pid: 2 ** 23 }

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** A store that does something before each shard is opened, and before each write to one. */
function watched(
  store: Store,
  {
    opens = async () => {},
    writes = async () => {},
  }: Partial<Record<"opens" | "writes", (shard: string) => Promise<void>>>,
): Store {
  const folderOf = (folder: Folder): Folder => ({
    ...folder,
    ...(folder.append && {
      append: {
        ...folder.append,
        open: async (name: string, first: Uint8Array) => {
          await opens(name)
          const file = await folder.append?.open(name, first)
          if (!file) return null
          const write = async (bytes: Uint8Array) => {
            await writes(name)
            await file.write(bytes)
          }
          return { write, stands: () => file.stands(), close: () => file.close() }
        },
      },
    }),
  })
  return { ...store, folder: (path) => folderOf(store.folder(path)) }
}

/**
 * A released run. The process `between` creates a shard to take it, and writes its header only after another process has read the run
 * and has found it dead; it goes on to a call that has not ended when the other one takes the run in its turn.
 */
async function takenInBetween(store: Store) {
  const begun: string[] = []
  const [isTaking, mayWrite, isCalling, mayEnd] = [deferred(), deferred(), deferred(), deferred()]
  const act = (name: string, work: () => Promise<void>) =>
    defineTool({
      name: "act",
      description: "Acts.",
      inputSchema: { type: "object" },
      effect: "repeatable",
      async run() {
        begun.push(name)
        await work()
        return "acted"
      },
    })
  const runtimeOf = (
    name: string,
    over: Store,
    work: () => Promise<void>,
    steps: Parameters<typeof scriptedModel>[0],
  ) => createRuntime({ store: over, tools: [act(name, work)], env: {}, owner: deadOwner, model: scriptedModel(steps) })

  const first = runtimeOf("first", store, async () => {}, [toolCall("act", {})])
  await first.run({ task: "Go.", runId: "r", slice: { turns: 1 } })
  begun.length = 0

  const slow = watched(store, {
    async writes(name) {
      if (name !== shardName(1)) return
      isTaking.resolve()
      await mayWrite.promise
    },
  })
  const calls = async () => {
    isCalling.resolve()
    await mayEnd.promise
  }
  const between = runtimeOf("between", slow, calls, [toolCall("act", {}), "Done."]).resume({ runId: "r" })
  await isTaking.promise
  const late = watched(store, {
    async opens(name) {
      if (name !== shardName(2)) return
      mayWrite.resolve()
      await isCalling.promise
    },
  })
  const last = await runtimeOf("last", late, async () => {}, ["Done."]).resume({ runId: "r" })
  mayEnd.resolve()
  return { begun, last, between: await between }
}

describe.each([
  ["memory", () => memoryStore()],
  ["disk", () => fsStore(mkdtempSync(join(base, "store-")))],
] as const)("a run in a store of the kind %s, which one process takes after another one has read it", (_, newStore) => {
  test("a call of the first may still be running: the second does not begin it again, although it may be repeated", async () => {
    const { begun, last, between } = await takenInBetween(newStore())
    expect(begun).toEqual(["between"])
    expect(last).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }, { status: "unknown" }] })
    expect(between).toMatchObject({ status: "failed", error: { code: "fenced" } })
  })
})
