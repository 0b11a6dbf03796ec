import { execFileSync } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { serve } from "../../src/hosts/node/http/serve.ts"
import { createSimulator } from "../../src/testing/index.ts"
import type { ClockOrder } from "../durable/clock-order.ts"
import { Bench, standing, type Told, type Worker } from "../durable/program.ts"

const bench = new Bench()
beforeAll(() => bench.prepare("clock-worker.ts"))
afterAll(() => bench.close())

const library = execFileSync("sh", ["-c", "ls /usr/lib/*/faketime/libfaketimeMT.so.1"], { encoding: "utf8" }).trim()

interface Clocked extends Worker {
  /** Sets its clock forward or back. Elapsed time is still measured correctly. */
  jump(by: "+3d" | "-3d"): void
}

function start(order: ClockOrder): Clocked {
  const file = join(mkdtempSync(join(bench.scratch, "clock-")), "offset")
  writeFileSync(file, "+0")
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  }
  return { ...bench.start(order, [], env), jump: (by) => writeFileSync(file, by) }
}

const days = { "+3d": 3, "-3d": -3 }
const jumps = ["+3d", "-3d"] as const
const of = ({ lines }: Told, name: string) => lines.flatMap((line) => (name in line ? [line[name]] : []))

test.each(jumps)("clock %s during a lease: a quiet but live run is not taken", async (by) => {
  const places = bench.places()
  const owner = start({ ...places, role: "owner", runId: "r", steps: 1, stepMs: 500, until: "jump" })
  await owner.said('"works"')
  const resumer = start({ ...places, role: "resumer", runId: "r" })
  await resumer.said('"resumed"')
  resumer.jump(by)
  const refused = await resumer.ended
  expect(of(refused, "resumed")).toEqual(["run_active", "run_active"])
  expect(of(refused, "jumped")).toEqual([days[by]])
  // Now the clock of the owner itself: its work continues, and its records stay in order.
  owner.jump(by)
  const done = await owner.ended
  expect(done.state).toMatchObject({ status: "done", text: "Done.", toolCalls: [{ status: "ok" }] })
  expect(of(done, "jumped")).toEqual([days[by]])
  const { history } = await standing(places)
  expect(history.map(({ seq }) => seq)).toEqual(history.map((_, index) => index))
  expect(history.filter(({ type }) => type === "run-resume")).toEqual([])
})

test.each(jumps)(
  "clock %s during a watch: a dead run is found after its lease, an active one is not touched",
  async (by) => {
    const places = bench.places()
    const dead = start({ ...places, role: "owner", runId: "dead", steps: 1, stepMs: 60_000 })
    await dead.said('"works"')
    dead.kill()
    await dead.ended
    const live = start({ ...places, role: "owner", runId: "live", steps: 30, stepMs: 250 })
    await live.said('"works"')
    const watcher = start({ ...places, role: "watcher", staleMs: 3000 })
    await watcher.said('"watches"')
    await pause(500)
    watcher.jump(by)
    const found = await watcher.ended
    expect(of(found, "jumped")).toEqual([days[by]])
    expect(of(found, "taken")).toEqual([[{ runId: "dead", nodeId: "main" }]])
    expect((await live.ended).state).toMatchObject({ status: "done" })
  },
)

test.each(jumps)(
  "clock %s while waiting for the model server: the wait has its configured length, and the run continues",
  async (by) => {
    const refused = { kind: "status", status: 429, retryAfter: "1" } as const
    const simulator = createSimulator({ script: () => "Here it is.", faults: [refused, refused] })
    const server = await serve(simulator.fetch)
    const caller = start({ ...bench.places(), role: "caller", url: server.url })
    await caller.said('"asked"')
    await pause(300)
    caller.jump(by)
    const done = await caller.ended
    expect(done.state).toMatchObject({ status: "done", text: "Here it is." })
    expect(of(done, "jumped")).toEqual([days[by]])
    const asked = of(done, "asked").map(Number)
    expect(asked).toHaveLength(3)
    const waits = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
    for (const waited of waits) expect(waited).toBeGreaterThan(990)
    expect(simulator.requests).toHaveLength(3)
    await server.close()
  },
)
