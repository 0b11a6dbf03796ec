import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { RunRecord } from "../src/contract/event.ts"
import { createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { Ownership } from "../src/journal/ownership.ts"
import { runPath, shardName } from "../src/journal/paths.ts"
import { project } from "../src/journal/projection.ts"
import { readRow } from "../src/journal/reader.ts"
import { writeState } from "../src/runs/state-file.ts"
import { scriptedModel } from "../src/testing/index.ts"

const base = mkdtempSync(join(tmpdir(), "longhaul-taker-"))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Higher than any Linux pid: no process has it. */
const deadOwner = { ...processOwner(), pid: 2 ** 23 }
const key = { workspaceId: "default", runId: "r", nodeId: "main" }

/** A finished run, and processes that each created a shard to take it and got no further. */
async function taken(owners: readonly object[]) {
  const store = fsStore(mkdtempSync(join(base, "store-")))
  const runtime = createRuntime({ store, tools: [], env: {}, model: scriptedModel(["Done."]) })
  await runtime.run({ task: "Go.", runId: "r" })
  const folder = store.folder(runPath(key))
  for (const [index, owner] of owners.entries()) {
    const claim = new Ownership({ ...owner }).claim
    const file = await folder.append?.open(shardName(index + 1), claim)
    await file?.close()
  }
  return { store, reader: createRuntime({ store, tools: [], env: {} }) }
}

async function typesOf(events: AsyncIterable<RunRecord>): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of events) types.push(type)
  return types
}

describe("a run that has ended, and that a process wanted to take and died", () => {
  test.each([
    ["one process", [deadOwner]],
    ["three processes", [deadOwner, deadOwner, deadOwner]],
  ])("%s: every view shows its end", async (_, owners) => {
    const { reader } = await taken(owners)
    expect(await reader.status("r")).toMatchObject({ status: "done" })
    expect(await reader.waitFor("r", { timeoutMs: 10 })).toMatchObject({ status: "done" })
    expect((await typesOf(reader.events("r"))).at(-1)).toBe("run-end")
    expect((await typesOf(reader.events("r", { follow: true }))).at(-1)).toBe("run-end")
    expect((await reader.runs())[0]).toMatchObject({ status: "done" })
    expect(await reader.replay("r")).toMatchObject({ status: "done" })
  })

  test("a taker that is alive may still discard the newest records: no view shows them yet", async () => {
    const { reader, store } = await taken([deadOwner, processOwner()])
    expect(await typesOf(reader.events("r"))).not.toContain("run-end")
    expect(await reader.status("r")).toMatchObject({ status: "running" })
    expect(await reader.waitFor("r", { timeoutMs: 10 })).toMatchObject({ status: "running" })
    // Its process dies: a third one sees the end.
    const folder = store.folder(runPath(key))
    await folder.delete(shardName(2))
    const file = await folder.append?.open(shardName(2), new Ownership(deadOwner).claim)
    await file?.close()
    const later = createRuntime({ store, tools: [], env: {} })
    expect((await typesOf(later.events("r"))).at(-1)).toBe("run-end")
    expect(await later.waitFor("r")).toMatchObject({ status: "done" })
  })

  test("a taker that is alive and has lost its store takes nothing: every view shows the end", async () => {
    const { reader, store } = await taken([processOwner()])
    expect(await typesOf(reader.events("r"))).not.toContain("run-end")
    const folder = store.folder(runPath(key))
    const { row } = await readRow(folder)
    await writeState(folder, project(row?.records ?? []), 1, 0, true)
    const other = createRuntime({ store, tools: [], env: {} })
    expect((await typesOf(other.events("r"))).at(-1)).toBe("run-end")
    expect((await typesOf(other.events("r", { follow: true }))).at(-1)).toBe("run-end")
    expect(await other.status("r")).toMatchObject({ status: "done" })
    expect(await other.waitFor("r")).toMatchObject({ status: "done" })
  })

  test("a taker that is alive while another shard has lost its store may still discard the newest records", async () => {
    const { reader, store } = await taken([processOwner()])
    const folder = store.folder(runPath(key))
    const { row } = await readRow(folder)
    await writeState(folder, project(row?.records ?? []), 0, 0, true)
    expect(await typesOf(reader.events("r"))).not.toContain("run-end")
  })
})
