import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { JsonObject } from "../src/contract/json.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import type { Store } from "../src/contract/store.ts"
import { memory } from "../src/extensions/memory/index.ts"
import { createOnlyStore, fsStore } from "../src/hosts/node/index.ts"
import { createRuntime } from "../src/index.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-memory-"))
let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(async () => {
  await server.close()
  rmSync(scratch, { recursive: true, force: true })
})

const freshRoot = () => mkdtempSync(join(scratch, "store-"))
const stores: Readonly<Record<string, () => Store>> = {
  "the local disk": () => fsStore(freshRoot()),
  "any file system": () => createOnlyStore(freshRoot()),
  "a bucket": () => server.freshStore(),
}

const call = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })
const memorize = (text: string) => call("Memorize", { text })
const recall = (query: string) => call("Recall", { query, limit: 20 })

async function runWith(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  let system = ""
  const last: ScriptedStep = (_, setup) => {
    system = setup.system ?? ""
    return "The answer."
  }
  const extensions = [memory({ mode: "read-write" })]
  const runtime = createRuntime({ store, model: scriptedModel([...steps, last]), extensions, ...config })
  const result = await runtime.run({ task: "lessons of the tenant" })
  expect(result).toMatchObject({ status: "done", warnings: [] })
  return `${system} ${result.toolCalls.map((each) => each.result)}`
}

describe.each(Object.entries(stores))("memory in %s", { tags: ["MEM-03"] }, (_, make) => {
  test("the memory of one tenant is there in its later runs, and never in those of another one", async () => {
    const store = make()
    const tenants = ["acme", "acme-2", "a"].map((workspaceId): RuntimeConfig => ({ workspaceId }))
    for (const [index, tenant] of tenants.entries()) {
      const lessons = [0, 1, 2].map((each) => memorize(`Lesson ${each} of tenant number ${index}.`))
      await runWith(store, lessons, tenant)
    }
    for (const [index, tenant] of tenants.entries()) {
      const seen = await runWith(store, [recall("lesson tenant number")], tenant)
      const lessons = [...seen.matchAll(/Lesson (\d) of tenant number (\d)/g)].map(([, ...numbers]) => numbers.join())
      expect(new Set(lessons)).toEqual(new Set([0, 1, 2].map((each) => `${each},${index}`)))
    }
  })

  test("the memory has every lesson of runs that write at the same time, once", async () => {
    const store = make()
    const texts = Array.from({ length: 4 }, (_, index) => `Tide ${index} comes at night.`)
    await Promise.all(texts.map((text) => runWith(store, [memorize(text), memorize(`${text} Twice.`)])))
    const folder = store.folder("workspaces/default/.longhaul/memory/lessons")
    expect(await folder.list()).toHaveLength(8)
    expect(await store.folder("workspaces/default/.longhaul/memory/episodes").list()).toHaveLength(4)
    const seen = await runWith(store, [recall("tide night")])
    for (const text of texts) expect(seen).toContain(text)
  })
})
