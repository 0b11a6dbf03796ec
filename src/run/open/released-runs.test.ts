import { expect, test } from "vitest"
import type { RunRecord } from "../../contract/event.ts"
import type { KnownRow } from "../../journal/row.ts"
import { ReleasedRuns } from "./released-runs.ts"

const key = (runId: string) => ({ workspaceId: "default", runId, nodeId: "main" })
const header = { v: 1, writer: "w", base: null }
const record: RunRecord = { seq: 0, at: 0, type: "run-end", status: "done" }
const row = (records: number): KnownRow => ({
  head: { shard: 0, header, validBytes: 0 },
  records: Array.from({ length: records }, () => record),
})

test("the records of released runs are kept up to 20,000, the newest runs first", () => {
  const released = new ReleasedRuns()
  for (const runId of ["a", "b", "c"]) released.keep(key(runId), row(8_000))
  expect(["a", "b", "c"].map((runId) => released.take(key(runId))?.records.length)).toEqual([undefined, 8_000, 8_000])
})

test("runs that were taken again, or are released again, leave their room to others", () => {
  const released = new ReleasedRuns()
  for (let times = 0; times < 5; times++) {
    released.keep(key("a"), row(8_000))
    released.take(key("a"))
    released.keep(key("b"), row(8_000))
  }
  released.keep(key("a"), row(8_000))
  expect(["a", "b"].map((runId) => released.take(key(runId))?.records.length)).toEqual([8_000, 8_000])
  expect(released.take(key("a"))).toBeUndefined()
})
