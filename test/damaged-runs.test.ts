import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { scriptedModel } from "../src/testing/index.ts"

const base = mkdtempSync(join(tmpdir(), "longhaul-damaged-"))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Higher than any Linux pid: no process has it. */
const deadOwner = { ...processOwner(), pid: 2 ** 23 }

const stores = { appending: fsStore, "create-only": createOnlyStore }

/** What other programs, people and disks do to a store. Each leaves the other runs as they were. */
type Harm = readonly [name: string, harm: (projects: string, victim: string) => void]

const damages: readonly Harm[] = [
  [
    "a flipped bit in the first shard",
    (_, victim) => {
      const path = join(victim, "000000.jsonl")
      const bytes = readFileSync(path)
      bytes[400] = (bytes[400] ?? 0) ^ 1
      // A complete flush behind it proves that acknowledged records are damaged.
      writeFileSync(path, bytes)
    },
  ],
  [
    "a folder in place of a shard",
    (_, victim) => {
      rmSync(join(victim, "000000.jsonl"))
      mkdirSync(join(victim, "000000.jsonl"))
    },
  ],
]

/** Things among the runs that are none. */
const strangers: readonly Harm[] = [
  ["a file named README among the runs", (projects) => writeFileSync(join(projects, "README"), "Runs are here.")],
  ["an empty folder among the runs", (projects) => mkdirSync(join(projects, "empty"))],
  [
    "a file in place of a run's nodes",
    (projects) => {
      mkdirSync(join(projects, "strange"))
      writeFileSync(join(projects, "strange", "nodes"), "")
    },
  ],
  [
    "a file in place of a node",
    (projects) => {
      mkdirSync(join(projects, "odd", "nodes"), { recursive: true })
      writeFileSync(join(projects, "odd", "nodes", "main"), "")
    },
  ],
]

describe.each(Object.entries(stores))("on an %s store", (_, newStore) => {
  test.each([
    ...damages.map(([name, harm]) => [name, harm, ["victim"]] as const),
    ...strangers.map(([name, harm]) => [name, harm, []] as const),
  ])("%s stops neither listing nor recovery of the others", async (__, harm, harmed) => {
    const root = mkdtempSync(join(base, "store-"))
    const store = newStore(root)
    const begin = async (runId: string) => {
      const runtime = createRuntime({
        store,
        tools: [],
        env: {},
        owner: deadOwner,
        model: scriptedModel(["One.", "Two."]),
      })
      return runtime.run({ task: `Task of ${runId}.`, runId })
    }
    for (const runId of ["a", "victim", "z"]) await begin(runId)
    // A run whose process died in the middle of a turn.
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const hangs = () => {
      asked()
      return new Promise<never>(() => {})
    }
    const dying = createRuntime({ store, tools: [], env: {}, owner: deadOwner, model: scriptedModel([hangs]) })
    void dying.run({ task: "Task of orphan.", runId: "orphan" })
    await isAsked
    rmSync(join(root, "workspaces/default/.longhaul/index"), { recursive: true })
    const projects = join(root, "workspaces/default/.longhaul/projects")
    harm(projects, join(projects, "victim/nodes/main"))

    const reader = createRuntime({ store, tools: [], env: {} })
    const listed = await reader.runs()
    const whole = listed.filter(({ damaged }) => !damaged).map(({ runId, task }) => [runId, task])
    expect(whole).toEqual(
      expect.arrayContaining([
        ["a", "Task of a."],
        ["z", "Task of z."],
        ["orphan", "Task of orphan."],
      ]),
    )
    expect(listed.map(({ runId }) => runId)).not.toContain("README")
    // The same again, now that the index has been written.
    expect(await reader.runs()).toEqual(listed)
    expect((await reader.runs({ status: "done" })).map(({ runId }) => runId)).toEqual(
      expect.arrayContaining(["a", "z"]),
    )
    expect(await reader.recoverOrphanedRuns({ staleMs: 1 })).toEqual([{ runId: "orphan", nodeId: "main" }])
    expect(await reader.deliverWebhooks()).toEqual([])
    const damaged = listed.filter((run) => run.damaged)
    expect(damaged.map(({ runId }) => runId)).toEqual(harmed)
    for (const { runId, nodeId } of damaged) {
      await expect(reader.status(runId, nodeId)).rejects.toMatchObject({ code: "storage" })
    }
  })
})
