import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Bucket, createRaceTrack, type RaceReport, type RaceTrack } from "./races/races.ts"
import { type S3Fault, type S3Proxy, startS3Proxy } from "./support/s3-proxy.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"
import { random } from "./support/scene.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const races = process.env.LONGHAUL_RACES === undefined ? 2 : Number(process.env.LONGHAUL_RACES)

const faults: readonly S3Fault[] = [
  ...(["lost", "late", "silent", "lost", "late"] as const),
  ...(["refused-500", "refused-503", "refused-409", "half", "slow"] as const),
]

let track: RaceTrack
let server: S3Server
let proxy: S3Proxy
let bucket: Bucket
beforeAll(async () => {
  const pick = random(1)
  track = await createRaceTrack()
  server = await startS3()
  proxy = await startS3Proxy(
    server.endpoint,
    ({ method }) => (pick(method === "PUT" ? 6 : 16) === 0 ? faults[pick(faults.length)] : undefined),
    () => pick(250),
  )
  bucket = {
    raced: { ...server.options, endpoint: proxy.endpoint, timeoutMs: 400 },
    judged: server.options,
    settled: proxy.settled,
  }
})
afterAll(async () => {
  track?.close()
  await proxy?.close()
  await server?.close()
})

test("processes that take one run in a bucket from each other, with lost and late writes, violate no guarantee", {
  timeout: WATCHDOG_MS + races * 30_000,
}, async () => {
  const reports: RaceReport[] = []
  for (let seed = 1; seed <= races; seed++) {
    const report = await track.race({ form: bucket, seed })
    expect(report.violations, `seed ${seed}`).toEqual([])
    reports.push(report)
  }
  const what = ["workers", "owners", "kills", "torn", "stops", "records", "effects", "unknown"] as const
  const sums = what.map((each) => `${reports.reduce((sum, report) => sum + report[each], 0)} ${each}`)
  const happened = Array.from(proxy.happened, ([fault, count]) => `${count} ${fault}`)
  console.log(`${races} races in a bucket: ${sums.join(", ")}; ${happened.join(", ")}; 0 violations`)
  // In a few races no kill need fall between an intent and its result.
  if (races >= 20) expect(reports.some(({ unknown }) => unknown > 0)).toBe(true)
  for (const fault of ["lost", "late", "silent"] as const) expect(proxy.happened.get(fault)).toBeGreaterThan(0)
})

test("control: a bucket whose create overwrites is detected", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { violations } = await track.race({ form: bucket, broken: "overwrites", seed })
    const harm = violations.find((violation) => /is lost|happened twice/.test(violation))
    if (harm === undefined) continue
    console.log(`it was caught in race ${seed}: ${harm}`)
    return
  }
  expect.fail("20 races with a broken bucket and the checker saw nothing")
})

test("an owner that is paused and wakes after a takeover adds nothing and starts no effect", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-stopped-"))
  const effects = join(folder, "effects")
  const options = { ...server.options, prefix: "stopped" }
  const owner: ChildProcess = fork(fileURLToPath(new URL("races/stopped-owner.mjs", import.meta.url)), {
    env: { ...process.env, LONGHAUL_DIST: track.url, EFFECTS: effects, BUCKET: JSON.stringify(options) },
    execArgv: [],
  })
  const told = async () => (await once(owner, "message"))[0] as string
  try {
    expect(await told()).toBe("owner")
    owner.send("go")
    expect(await told()).toBe("done")

    owner.kill("SIGSTOP")
    const run = track.built.s3Store(options).folder("run")
    const successor = await track.built.takeRun(run, { first: () => [{ type: "run-resume", cause: "takeover" }] })
    successor.append({ type: "run-end", status: "done" })
    await successor.release()
    const history = await track.built.createReader(run).next()
    expect(history.map(({ type }) => type)).toEqual(["warning", "tool-intent", "tool-result", "run-resume", "run-end"])

    const woken = told()
    owner.send("go")
    owner.kill("SIGCONT")
    expect(await woken).toBe("fenced")
    expect(await track.built.createReader(run).next()).toEqual(history)
    expect(readFileSync(effects, "utf8")).toBe("op-0\n")
  } finally {
    owner.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
})
