import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { RunRecord } from "../src/contract/event.ts"
import type { Store } from "../src/contract/store.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-deleted-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const runFolder = (root: string) => join(root, "workspaces/default/.longhaul/projects/r/nodes/main")

interface Loss {
  readonly name: string
  /** What happens to the folder of a store, and of a run in it. */
  happen(root: string, store: Store): void | Promise<void>
}

const losses: readonly Loss[] = [
  { name: "the store's folder is deleted", happen: (root) => rmSync(root, { recursive: true }) },
  { name: "the run's folder is deleted", happen: (root) => rmSync(runFolder(root), { recursive: true }) },
  { name: "the store's folder is moved away", happen: (root) => renameSync(root, `${root}-moved`) },
  {
    name: "the store's folder is deleted and made again by another run",
    async happen(root, store) {
      rmSync(root, { recursive: true })
      const model = scriptedModel(["Done."])
      const other = createRuntime({ store, model, tools: [], env: {}, workspace: join(scratch, "workspace") })
      expect(await other.run({ task: "x", runId: "other" })).toMatchObject({ status: "done" })
    },
  },
]

describe.each([
  { form: "append", make: fsStore },
  { form: "create-only", make: createOnlyStore },
])("$form: deletion during a run", ({ make }) => {
  let made = 0
  // Side by side: where files are only created, all that takes time is the wait between attempts.
  test.concurrent.each(losses)(
    "a run during which $name fails as storage and acknowledges nothing more",
    async ({ happen }) => {
      const root = join(scratch, `${make.name}-${made++}`)
      const store = make(root)
      const told: RunRecord[] = []
      let toldBefore = Number.POSITIVE_INFINITY
      const work = defineTool({
        name: "work",
        description: "Works.",
        inputSchema: { type: "object" },
        effect: "repeatable",
        async run() {
          if (++calls !== 3) return
          await happen(root, store)
          toldBefore = told.length
        },
      })
      let calls = 0
      const next: ScriptedStep = { parts: [{ toolCall: { name: "work", args: {} } }] }
      const model = scriptedModel(Array<ScriptedStep>(50).fill(next))
      const runtime = createRuntime({ store, model, tools: [work], env: {}, workspace: join(scratch, "workspace") })
      const onEvent = (event: object) => "seq" in event && told.push(event as RunRecord)
      const result = await runtime.run({ task: "x", runId: "r", onEvent })
      expect(result).toMatchObject({ status: "failed", error: { code: "storage" } })
      expect(calls).toBe(3)
      expect(told.length).toBe(toldBefore)
      // Nothing is recreated in its place.
      const left = existsSync(runFolder(root)) ? readdirSync(runFolder(root)) : []
      expect(left.filter((name) => name.endsWith(".jsonl"))).toEqual([])
    },
  )
})
