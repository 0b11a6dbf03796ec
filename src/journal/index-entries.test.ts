import { expect, test } from "vitest"
import {
  decodeSummary,
  encodeSummary,
  entryName,
  type IndexEntry,
  markName,
  parseEntry,
  parseMark,
  type ReleasedEntry,
} from "./index-entries.ts"

const run = { runId: "run_1-a", nodeId: "main__2" }
const released: ReleasedEntry = {
  kind: "released",
  ...run,
  startedAt: 1_700_000_000_000,
  shards: 12,
  status: "failed",
  owes: false,
}

test("every entry and every mark can be parsed from its name", () => {
  const entries: IndexEntry[] = [
    { kind: "begun", ...run, startedAt: 0 },
    { kind: "begun", ...run, startedAt: Number.MAX_SAFE_INTEGER },
    released,
    { ...released, owes: true },
    { kind: "removed", ...run },
  ]
  for (const entry of entries) expect(parseEntry(entryName(entry))).toEqual(entry)
  for (const mark of [run, { ...run, taken: 0 }, { ...run, taken: 31 }]) expect(parseMark(markName(mark))).toEqual(mark)
})

test("the name of a newer run sorts before that of an older one, and the longest fits a file system", () => {
  const times = [0, 1, 35, 36, 1_700_000_000_000, 1_700_000_000_001, Number.MAX_SAFE_INTEGER]
  const names = times.map((startedAt) => entryName({ kind: "begun", ...run, startedAt }))
  expect([...names].sort()).toEqual(names.toReversed())
  const id = "a".repeat(64)
  const longest = entryName({ ...released, runId: id, nodeId: id, status: "cancelled", shards: 10_000_000, owes: true })
  expect(longest.length).toBeLessThan(255)
})

test("a name that no version writes is neither an entry nor a mark", () => {
  const begun = entryName({ kind: "begun", ...run, startedAt: 5 })
  const names = [
    "",
    "~",
    "a",
    ".tmp-1",
    `${begun}~`,
    `${begun}~1`,
    `${begun}~1~odd`,
    `${begun}~01~done`,
    `${begun}~1~done~no`,
  ]
  for (const name of [...names, begun.toUpperCase(), `0${begun}`, "~../x~main", "~a~b~c", "zzzzzzzzzzz~a~main"])
    expect(parseEntry(name), name).toBeNull()
  for (const name of ["a", "a~", "~a", "a~b~", "a~b~01", "a~b~-1", "a~b~1~2", "a~b c"])
    expect(parseMark(name), name).toBeNull()
})

test("a summary is rejected if it is truncated, altered, or of another run, time or status", () => {
  const summary = {
    ...run,
    workspaceId: "default",
    status: "failed",
    task: "Line\nbreak ü",
    turns: 2,
    startedAt: released.startedAt,
    updatedAt: 9,
  } as const
  const bytes = encodeSummary({ summary, bytes: 700, taken: 3 })
  expect(decodeSummary(bytes, released)).toEqual({ summary, bytes: 700, taken: 3 })
  for (let cut = 0; cut < bytes.length; cut++)
    expect(decodeSummary(bytes.subarray(0, cut), released), `${cut}`).toBeNull()
  for (let at = 0; at < bytes.length; at++) {
    const altered = bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))
    expect(decodeSummary(altered, released), `${at}`).toBeNull()
  }
  for (const other of [{ runId: "b" }, { nodeId: "main" }, { startedAt: 1 }, { status: "done" as const }]) {
    expect(decodeSummary(bytes, { ...released, ...other })).toBeNull()
  }
})

test("a file of the index with a valid checksum but without a summary is rejected, not an error for the whole listing", () => {
  for (const summary of [undefined, null, "x", []]) {
    // Safe: the case is that something else wrote the file.
    expect(decodeSummary(encodeSummary({ summary, bytes: 1 } as never), released)).toBeNull()
    expect(decodeSummary(encodeSummary((summary ?? null) as never), released)).toBeNull()
  }
})
