import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createRaceTrack, type RaceOptions, type RaceReport, type RaceTrack } from "./races/races.ts"
import { PATIENCE_MS, WATCHDOG_MS } from "./support/watchdog.ts"

const races = Number(process.env.LONGHAUL_RACES ?? 10)
const timeout = WATCHDOG_MS + races * 5_000

let track: RaceTrack
beforeAll(async () => {
  track = await createRaceTrack()
})
afterAll(() => track?.close())

const sum = (reports: readonly RaceReport[], what: Exclude<keyof RaceReport, "violations">) =>
  `${reports.reduce((total, report) => total + report[what], 0)} ${what}`

test("processes that take one run from each other, stopped and killed at any time, violate no guarantee", {
  timeout,
}, async () => {
  const reports: RaceReport[] = []
  for (let seed = 1; seed <= races; seed++) {
    const form = seed % 2 === 0 ? "append" : "create-only"
    const report = await track.race({ form, seed })
    expect(report.violations, `${form}, seed ${seed}`).toEqual([])
    reports.push(report)
  }
  const what = ["workers", "owners", "kills", "torn", "stops", "records", "effects", "unknown"] as const
  console.log(`${races} races: ${what.map((each) => sum(reports, each)).join(", ")}; 0 violations`)
  expect(reports.some(({ unknown }) => unknown > 0)).toBe(true)
})

const controls: readonly { name: string; options: Omit<RaceOptions, "seed"> }[] = [
  { name: "a store whose looks see nothing", options: { form: "append", broken: "blind" } },
  { name: "a store that looks before it appends", options: { form: "append", broken: "looks-early" } },
  { name: "a store whose create overwrites", options: { form: "create-only", broken: "overwrites" } },
]

test.each(controls)("control: $name is detected", async ({ name, options }) => {
  for (let seed = 1; seed <= 20; seed++) {
    const { violations } = await track.race({ ...options, seed })
    // Other failures could have other causes: only the harm of the violated guarantee counts as detected.
    const harm = violations.find((violation) => /is lost|happened twice/.test(violation))
    if (harm === undefined) continue
    console.log(`${name} was caught in race ${seed}: ${harm}`)
    return
  }
  expect.fail("20 races with a broken store and the checker saw nothing")
})

test("an owner whose every file is cut short by the disk continues in the next shard and loses nothing", async () => {
  const root = mkdtempSync(join(tmpdir(), "longhaul-short-"))
  try {
    const acknowledged = await flushUnderLimit(root, 200)
    const history = await track.built.createReader(track.built.fsStore(root).folder("run")).next()
    expect(acknowledged).toHaveLength(200)
    expect(history.map((record) => JSON.stringify(record))).toEqual(acknowledged)
    expect((await track.built.fsStore(root).list("run")).length).toBeGreaterThan(4)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

/** Flushes one record at a time in a process whose files may not exceed 8 KiB: real short writes, then real errors. */
async function flushUnderLimit(root: string, count: number): Promise<string[]> {
  const script = `
    const { takeRun } = await import(${JSON.stringify(new URL("journal/journal.js", track.url).href)})
    const { fsStore } = await import(${JSON.stringify(new URL("hosts/node/store/fs-store.js", track.url).href)})
    const note = (index) => ({ type: "warning", code: "note", message: index + "x".repeat(200) })
    const journal = await takeRun(fsStore(${JSON.stringify(root)}).folder("run"), {
      first: () => [note(0)],
      acknowledged: (records) => records.forEach((record) => console.log(JSON.stringify(record))),
    })
    for (let index = 1; index < ${count}; index++) {
      journal.append(note(index))
      await journal.flush()
    }
    await journal.release()`
  const limited = 'ulimit -f 8 && exec "$0" --input-type=module -e "$1"'
  const child = spawn("bash", ["-c", limited, process.execPath, script], { stdio: ["ignore", "pipe", "inherit"] })
  let output = ""
  let isLate = false
  const bound = setTimeout(() => {
    isLate = child.kill("SIGKILL")
  }, PATIENCE_MS)
  for await (const chunk of child.stdout.setEncoding("utf8")) output += chunk
  clearTimeout(bound)
  if (isLate) throw new Error(`It did not end, and flushed ${output.split("\n").length - 1} records.`)
  return output.split("\n").slice(0, -1)
}
