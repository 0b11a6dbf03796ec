import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { memoryStore } from "../stores/memory.ts"
import { project } from "./projection.ts"
import { createReader } from "./reader.ts"
import { resultOf } from "./result.ts"
import { claimOf } from "./shard.ts"
import { SCHEMA_VERSION, upgradeRecord } from "./upgrade.ts"

test("a journal of version 1 stays readable", async () => {
  const bytes = readFileSync(new URL("./__fixtures__/v1/000000.jsonl", import.meta.url))
  const folder = memoryStore().folder("run")
  await folder.create("000000.jsonl", bytes)
  const run = project(await createReader(folder).next())
  expect(resultOf(run, { workspaceId: "default", path: "", lastShard: 0 })).toMatchObject({
    runId: "fixture",
    status: "done",
    text: "Paid.",
    turns: 2,
    toolCalls: [
      { id: "1.2", name: "Look", args: { at: "a" }, result: "seen", status: "ok" },
      { id: "1.3", name: "Pay", args: { euros: 5 }, result: '{"paid":true}', status: "ok" },
    ],
  })
  expect(run.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"])
  expect(run.messages[1]?.content[0]).toEqual({
    type: "reasoning",
    text: "Think first",
    opaque: "sig",
    origin: "scripted:scripted",
  })
  expect(run.input).toMatchObject({ system: "Be brief", metadata: { ticket: 7 } })
})

test("a journal of version 2 stays readable, including a shard without a header", async () => {
  const folder = memoryStore().folder("run")
  for (const name of ["000000.jsonl", "000001.jsonl", "000002.jsonl"]) {
    await folder.create(name, readFileSync(new URL(`./__fixtures__/v2/${name}`, import.meta.url)))
  }
  const run = project(await createReader(folder).next())
  expect(resultOf(run, { workspaceId: "default", path: "", lastShard: 2 })).toMatchObject({
    runId: "fixture",
    status: "done",
    text: "Paid.",
    turns: 2,
    toolCalls: [{ id: "1.1", name: "Pay", args: { euros: 5 }, result: '{"paid":true}', status: "ok" }],
  })
  const claim = claimOf((await folder.read("000001.jsonl")) as Uint8Array)
  expect(claim).toMatchObject({ v: 2, owner: { pid: 2 } })
})

test("an older record passes every upgrade step up to the current version", () => {
  const steps = {
    1: (record: object) => ({ ...record, type: "noted" }),
    2: (record: object) => ({ ...record, by: "nobody" }),
  }
  const line = { seq: 0, at: 1, type: "note" }
  expect(upgradeRecord(line, 1, 3, steps)).toEqual({ seq: 0, at: 1, type: "noted", by: "nobody" })
  expect(upgradeRecord(line, 2, 3, steps)).toEqual({ seq: 0, at: 1, type: "note", by: "nobody" })
  expect(upgradeRecord(line, SCHEMA_VERSION)).toBe(line)
})

test("a journal of a newer version is rejected with a fix", () => {
  expect(() => upgradeRecord({ seq: 0 }, SCHEMA_VERSION + 1)).toThrow(
    expect.objectContaining({ code: "storage", retryable: false, fix: expect.stringContaining("Upgrade") }),
  )
})
