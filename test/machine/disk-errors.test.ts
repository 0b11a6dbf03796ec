import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Bench, type Order, standing, type Told } from "../durable/program.ts"
import { readTrace, tracing } from "../durable/trace.ts"
import { faults } from "../support/workload.ts"

const bench = new Bench()
beforeAll(() => bench.prepare())
afterAll(() => bench.close())

type Form = NonNullable<Order["form"]>
const runFolder = (root: string) => join(root, "workspaces/default/.longhaul/projects/r/nodes/main")
const shards = (root: string) =>
  Array.from({ length: 30 }, (_, index) => join(runFolder(root), `${String(index).padStart(6, "0")}.jsonl`))

interface Fault {
  readonly call: "write" | "fdatasync" | "fsync"
  readonly error: "EIO" | "ENOSPC"
  /** Which of these calls fails, counted from 1; with a plus, all from there on. */
  readonly when: string
  /** Only calls on these files count. */
  readonly files?: readonly string[]
}

let traces = 0
/** A worker with a failing disk. One thread does all its file work, so that the calls can be counted. */
async function withFault(order: Order, { call, error, when, files = [] }: Fault) {
  const file = join(bench.scratch, `trace-${traces++}`)
  const inject = ["-e", `inject=${call}:error=${error}:when=${when}`, ...files.flatMap((path) => ["-P", path])]
  const told = await bench.start(order, tracing(file, inject), { UV_THREADPOOL_SIZE: "1" }).ended
  return { ...told, calls: readTrace(file) }
}

async function finished(order: Order, before: readonly Told[]) {
  const all = [...before, await bench.start(order).ended]
  const { state, history } = await standing(order)
  const [told, deeds] = [all.flatMap((each) => each.told), all.flatMap((each) => each.deeds)]
  expect(faults(history, told, deeds, state)).toEqual([])
  return { told: told.length, deeds: deeds.length, history }
}

const notWritten = { status: "failed", data: null, error: { code: "storage", retryable: true } }

describe("write errors on an appending store", () => {
  test.each(["EIO", "ENOSPC"] as const)(
    "%s from any write on: the run fails as storage, publishes nothing unwritten, and finishes later",
    async (error) => {
      let [failures, told, deeds] = [0, 0, 0]
      for (let when = 2; ; when += error === "EIO" ? 1 : 4) {
        const order = bench.places()
        const full = await withFault(order, { call: "write", error, when: `${when}+`, files: shards(order.root) })
        if (full.state?.status === "done") break
        expect(full.state, `write ${when}`).toMatchObject(notWritten)
        const counts = await finished(order, [full])
        failures++
        told += counts.told
        deeds += counts.deeds
      }
      expect(failures).toBeGreaterThan(3)
      console.log(
        `${error} from write n on, n = 2…: ${failures} runs failed and were finished; ${told} records told, 0 lost; ${deeds} deeds, 0 twice`,
      )
    },
  )

  test("a single failed write is repeated in the next shard, without any other visible effect", async () => {
    let failures = 0
    for (let when = 1; ; when++) {
      const order = bench.places()
      const { state, told, deeds, calls } = await withFault(order, {
        call: "write",
        error: "EIO",
        when: String(when),
        files: shards(order.root),
      })
      const failed = calls.find((call) => call.failed && call.text.includes("INJECTED"))
      if (failed === undefined) break
      expect(state, `write ${when}`).toMatchObject({ status: "done" })
      expect(
        calls.filter((call) => call.name === "write" && call.path === failed.path && call.began > failed.ended),
      ).toEqual([])
      const found = await standing(order)
      expect(faults(found.history, told, deeds, found.state)).toEqual([])
      failures++
    }
    console.log(`one failed write, at each of ${failures}: all runs done, no shard written again`)
    expect(failures).toBeGreaterThan(3)
  })
})

describe("write errors on a create-only store", () => {
  test("a file whose sync failed is never named: its bytes go into another file", async () => {
    let failures = 0
    for (let when = 1; ; when++) {
      const order: Order = { ...bench.places(), form: "create-only" }
      const { state, told, deeds, calls } = await withFault(order, {
        call: "fdatasync",
        error: "EIO",
        when: String(when),
      })
      const failed = calls.find((call) => call.failed && call.text.includes("INJECTED"))
      if (failed === undefined) break
      expect(state, `sync ${when}`).toMatchObject({ status: "done" })
      expect(calls.filter((call) => call.name === "link" && call.path === failed.path)).toEqual([])
      const found = await standing(order)
      expect(faults(found.history, told, deeds, found.state)).toEqual([])
      failures++
    }
    expect(failures).toBeGreaterThan(3)
  })

  test("a run whose syncs fail from any point on fails as storage, publishes nothing unwritten, and finishes later", async () => {
    const order: Order = { ...bench.places(), form: "create-only" }
    const full = await withFault(order, { call: "fdatasync", error: "EIO", when: "4+" })
    expect(full.state).toMatchObject(notWritten)
    await finished(order, [full])
  })
})

test.each<{ form: Form }>([{ form: "append" }, { form: "create-only" }])(
  "$form: nothing is published while a folder cannot be synced",
  async ({ form }) => {
    const order: Order = { ...bench.places(), form }
    const full = await withFault(order, { call: "fsync", error: "EIO", when: "1+", files: [runFolder(order.root)] })
    expect(full.state).toMatchObject(notWritten)
    expect(full.told).toEqual([])
    expect(full.deeds).toEqual([])
  },
)

const asRoot = process.getuid?.() === 0 ? [] : ["sudo"]
function mount(...given: string[]): void {
  const [command = "", ...rest] = [...asRoot, ...given]
  execFileSync(command, rest)
}

/** A separate disk of this size. Needs root. */
class SmallDisk {
  readonly path: string

  constructor(path: string, size: string) {
    this.path = path
    mkdirSync(path)
    mount("mount", "-t", "tmpfs", "-o", `size=${size},mode=777`, "tmpfs", path)
  }

  grow(size: string): void {
    mount("mount", "-o", `remount,size=${size}`, this.path)
  }

  [Symbol.dispose](): void {
    mount("umount", this.path)
  }
}

test.each<{ form: Form }>([{ form: "append" }, { form: "create-only" }])(
  "$form: a full 64 KB disk fails the run as storage; with more space it finishes",
  async ({ form }) => {
    const places = bench.places()
    using disk = new SmallDisk(join(places.workspace, "../disk"), "64k")
    const order: Order = { ...places, root: join(disk.path, "store"), form, resultBytes: 30_000 }
    const full = await bench.start(order).ended
    expect(full.state).toMatchObject(notWritten)
    const still = await bench.start(order).ended
    expect(still.state).toMatchObject({ status: "failed", error: { code: "storage" } })
    disk.grow("4m")
    const counts = await finished(order, [full, still])
    console.log(
      `${form}, 64 KB: full after ${full.told.length} records, finished with ${counts.history.length}, 0 lost`,
    )
  },
)
