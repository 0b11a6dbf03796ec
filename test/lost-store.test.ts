import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { LonghaulError } from "../src/contract/error.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../src/hosts/node/index.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { toolCall } from "./support/tenant-scene.ts"
import { until } from "./support/watchdog.ts"

const base = mkdtempSync(join(tmpdir(), "longhaul-lost-store-"))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** A disk that can be full: nothing is written then, and everything can be read. */
function fillable(inner: Store) {
  let isFull = false
  const guarded =
    <Args extends unknown[], Value>(work: (...args: Args) => Promise<Value>) =>
    async (...args: Args): Promise<Value> => {
      if (isFull) throw new LonghaulError("storage", "Could not write: ENOSPC.", { retryable: true })
      return work(...args)
    }
  const folderOf = (folder: Folder): Folder => ({
    ...folder,
    create: guarded(folder.create),
    replace: guarded(folder.replace),
    ...(folder.append && {
      append: {
        ...folder.append,
        open: guarded(async (name: string, first: Uint8Array) => {
          const file = await folder.append?.open(name, first)
          if (!file) return null
          return {
            write: guarded((bytes: Uint8Array) => file.write(bytes)),
            stands: () => file.stands(),
            close: () => file.close(),
          }
        }),
      },
    }),
  })
  const store: Store = { ...inner, folder: (path) => folderOf(inner.folder(path)) }
  return {
    store,
    fill() {
      isFull = true
    },
    free() {
      isFull = false
    },
  }
}

describe.each([
  ["appending", fsStore],
  ["create-only", createOnlyStore],
])("a background run whose %s store is full for a moment", (_, newStore) => {
  test("a background run whose store is full for a moment is failed with `storage` here, lost to others, and can be resumed", async () => {
    const root = mkdtempSync(join(base, "store-"))
    const disk = fillable(newStore(root))
    const effects: string[] = []
    const act = (isFirst: boolean) =>
      defineTool({
        name: "act",
        description: "Acts.",
        inputSchema: { type: "object" },
        run(__, { callId }) {
          effects.push(callId)
          if (isFirst) disk.fill()
          return "acted"
        },
      })
    const owner = createRuntime({
      store: disk.store,
      tools: [act(true)],
      env: {},
      model: scriptedModel([toolCall("act", {}), toolCall("act", {}), "Done."]),
    })
    await owner.start({ task: "Go.", runId: "r" })
    const ended = await owner.waitFor("r")
    expect(ended).toMatchObject({ status: "failed", error: { code: "storage" } })
    disk.free()
    expect(await owner.waitFor("r")).toMatchObject({ status: "failed", error: { code: "storage" } })
    expect(await owner.status("r")).toMatchObject({ status: "failed", error: { code: "storage" } })

    const model = scriptedModel(["Done."])
    const other = createRuntime({ store: newStore(root), tools: [act(false)], env: {}, model })
    const isLost = { status: "running", lost: true }
    await until(async () => {
      const state = await other.status("r")
      return "lost" in state && state.lost === true
    })
    expect(await other.runs()).toMatchObject([isLost])
    expect(await other.resume({ runId: "r" })).toMatchObject({ status: "done" })
    expect(await owner.status("r")).toMatchObject({ status: "done" })
    expect(new Set(effects).size).toBe(effects.length)
  })
})
