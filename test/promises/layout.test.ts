import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createOnlyStore, createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import type { Store } from "../../src/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { scriptedModel } from "../../src/testing/index.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "longhaul-layout-"))
  mkdirSync(join(root, "work/notes"), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const read = (path: string) => ({ parts: [{ toolCall: { name: "Read", args: { path } } }] })
const write = (path: string) => ({ parts: [{ toolCall: { name: "Write", args: { path, content: "new" } } }] })

function runtimeOver(store: Store, steps: Parameters<typeof scriptedModel>[0], workspaceId = "acme") {
  return createRuntime({ workspace: join(root, "work"), store, workspaceId, model: scriptedModel(steps) })
}

test("a run has the same relative path on every store", { tags: ["STO-02"] }, async () => {
  const path = "workspaces/acme/.longhaul/projects/r1/nodes/n1"
  const disk = join(root, "disk")
  const slots = join(root, "slots")
  const memory = memoryStore()
  for (const store of [fsStore(disk), createOnlyStore(slots), memory]) {
    const { transcript } = await runtimeOver(store, ["fine"]).run({ task: "x", runId: "r1", nodeId: "n1" })
    expect(transcript.path.endsWith(path)).toBe(true)
  }
  const ofRuns = (folder: string) => files(folder).filter((name) => name.includes("/nodes/"))
  expect(ofRuns(disk)).toEqual([`${path}/000000.jsonl`])
  expect(ofRuns(slots)[0]).toBe(`${path}/000000.jsonl`)
  expect(await memory.list(path)).toEqual(["000000.jsonl"])
})

test("the transcript is a sequence of JSONL shards, and the result names the last one", {
  tags: ["STO-07"],
}, async () => {
  for (const store of [fsStore(join(root, "disk")), createOnlyStore(join(root, "slots"))]) {
    const { transcript } = await runtimeOver(store, [write("a.md"), "done"]).run({ task: "x" })
    const shards = readdirSync(transcript.path).sort()
    expect(shards).toEqual(shards.map((_, index) => `${String(index).padStart(6, "0")}.jsonl`))
    expect(transcript.lastShard).toBe(shards.length - 1)
    for (const shard of shards) {
      const lines = readFileSync(join(transcript.path, shard), "utf8").trimEnd().split("\n")
      for (const line of lines) expect(() => JSON.parse(line)).not.toThrow()
    }
  }
})

test("workspaces of one store share nothing, and no id escapes its workspace", { tags: ["STO-04"] }, async () => {
  const store = fsStore(join(root, "disk"))
  const acme = runtimeOver(store, ["secret of acme"], "acme")
  const other = runtimeOver(store, ["mine"], "other")
  await acme.run({ task: "x", runId: "same" })
  expect(await other.status("same")).toMatchObject({ status: "not_found", error: { code: "not_found" } })
  expect(await other.runs()).toEqual([])
  expect(await other.run({ task: "x", runId: "same" })).toMatchObject({ status: "done", text: "mine" })
  expect(await acme.status("same")).toMatchObject({ text: "secret of acme" })
  const before = files(root)
  for (const id of ["../../../acme/.longhaul/projects/same", "..", ".", "a/b", "", "a\0b", "a".repeat(65)]) {
    expect(await other.run({ task: "x", runId: id }), id).toMatchObject({ error: { code: "config_invalid" } })
    expect(await other.run({ task: "x", nodeId: id }), id).toMatchObject({ error: { code: "config_invalid" } })
    await expect(other.status(id), id).rejects.toMatchObject({ code: "config_invalid" })
    expect(() => runtimeOver(store, [], id), id).toThrow(expect.objectContaining({ code: "config_invalid" }))
  }
  expect(files(root)).toEqual(before)
})

test("tools work in `cwd`, by default the workspace, and never outside", { tags: ["RUN-03"] }, async () => {
  writeFileSync(join(root, "work/a.md"), "of the workspace")
  writeFileSync(join(root, "work/notes/a.md"), "of the notes")
  writeFileSync(join(root, "outside.md"), "out of reach")
  const runtime = runtimeOver(memoryStore(), [read("a.md"), "", read("a.md"), "", read("../outside.md"), ""])
  const first = await runtime.run({ task: "x" })
  const second = await runtime.run({ task: "x", cwd: join(root, "work/notes") })
  const third = await runtime.run({ task: "x" })
  expect(first.toolCalls[0]?.result).toContain("of the workspace")
  expect(second.toolCalls[0]?.result).toContain("of the notes")
  expect(third.toolCalls[0]).toMatchObject({ status: "error", result: expect.stringContaining("denied") })
})

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}
