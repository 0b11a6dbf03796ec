import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { RunSummary } from "../src/contract/run.ts"
import type { Runtime } from "../src/contract/runtime.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import { createOnlyStore, fsStore } from "../src/hosts/node/store/fs-store.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { INDEX, listByReading, paged, runtimeOver } from "./run-index/world.ts"
import { random } from "./support/scene.ts"
import { until } from "./support/watchdog.ts"

const steps = Number(process.env.LONGHAUL_INDEX_STEPS ?? 25)
const seeds = Number(process.env.LONGHAUL_INDEX_SEEDS ?? 1)

const root = mkdtempSync(join(tmpdir(), "longhaul-run-index-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let made = 0
const freshRoot = () => join(root, String(made++))

/** A memory store whose folders only create. */
function createOnlyMemory(): Store {
  const store = memoryStore()
  const folder = (path: string): Folder => {
    const { append: _, ...rest } = store.folder(path)
    return rest
  }
  return { ...store, folder }
}

const forms: Readonly<Record<string, () => Store>> = {
  "memory, append": memoryStore,
  "memory, create-only": createOnlyMemory,
  "disk, append": () => fsStore(freshRoot()),
  "disk, create-only": () => createOnlyStore(freshRoot()),
}

const statuses = ["running", "paused", "done", "failed", "cancelled"] as const

/** Deletes, truncates, alters and restores files of the index. It keeps every file that was ever in it. */
class Saboteur {
  readonly #store: Store
  readonly #pick: (below: number) => number
  readonly #seen = new Map<string, Uint8Array>()
  strikes = 0

  constructor(store: Store, pick: (below: number) => number) {
    this.#store = store
    this.#pick = pick
  }

  async strike(): Promise<void> {
    const folder = this.#store.folder(INDEX)
    const names = await this.#store.list(INDEX)
    for (const name of names) {
      const bytes = await folder.read(name)
      if (bytes) this.#seen.set(name, bytes)
    }
    const everything = [...this.#seen]
    const name = names[this.#pick(Math.max(1, names.length))]
    if (name === undefined) return
    this.strikes++
    const bytes = this.#seen.get(name) ?? new Uint8Array()
    switch (this.#pick(5)) {
      case 0:
        return folder.delete(name)
      case 1:
        return folder.replace(name, bytes.subarray(0, this.#pick(bytes.length + 1)))
      case 2:
        return folder.replace(
          name,
          bytes.map((byte, at) => (at === this.#pick(bytes.length) ? byte ^ 0x20 : byte)),
        )
      case 3: {
        const [old, content] = everything[this.#pick(everything.length)] ?? [name, bytes]
        return folder.replace(old, content)
      }
      case 4:
        // Deletes some of the current files and restores some earlier ones.
        for (const each of names) if (this.#pick(2) === 0) await folder.delete(each)
        for (const [old, content] of everything) if (this.#pick(4) === 0) await folder.replace(old, content)
    }
  }
}

/** Performs one random operation on the runs of a workspace. */
async function act(runtime: Runtime, other: Runtime, pick: (below: number) => number): Promise<string> {
  const all = await runtime.runs()
  const host = pick(2) === 0 ? runtime : other
  const some = (status?: RunSummary["status"]) => {
    const fitting = all.filter((run) => status === undefined || run.status === status)
    return fitting[pick(Math.max(1, fitting.length))]
  }
  const tasks = ["done", "fail", "ask", "hang"]
  const task = tasks[pick(tasks.length)] ?? "done"
  const kind = pick(10)
  if (kind < 3) {
    const chosen = pick(2) === 0 ? { runId: `chosen-${pick(30)}` } : {}
    const node = pick(4) === 0 ? { nodeId: `node-${pick(3)}` } : {}
    const { status } = await host.start({ task, ...chosen, ...node })
    return `start ${task} ${status}`
  }
  if (kind < 5) {
    const run = some(pick(2) === 0 ? "paused" : "failed")
    if (run === undefined) return "nothing to resume"
    const decision = run.status === "paused" ? { decision: "approve" as const } : {}
    const { status } = await host.resume({ runId: run.runId, nodeId: run.nodeId, ...decision })
    return `resume ${run.status} ${status}`
  }
  const run = some(kind < 6 ? "running" : undefined)
  if (run === undefined) return "no run"
  const { runId, nodeId } = run
  if (kind < 7) {
    // The runtime that owns the run cancels it immediately.
    const results = await Promise.all([runtime, other].map((each) => each.cancel(runId, { nodeId }).catch(codeOf)))
    if (results.includes(true)) await runtime.waitFor(runId, { nodeId, pollIntervalMs: 5 })
    return `cancel ${run.status} ${results}`
  }
  if (kind < 8)
    return `continue ${run.status} ${(await host.continue(runId, task === "hang" ? "ask" : task, { nodeId })).status}`
  if (kind < 9) return `fork ${run.status} ${await host.fork(runId, { nodeId }).then(() => "forked", codeOf)}`
  return `remove ${run.status} ${await host.remove(runId, { nodeId }).catch(codeOf)}`
}

const codeOf = (error: { code?: string }) => error.code ?? String(error)

for (const [form, make] of Object.entries(forms)) {
  for (let seed = 1; seed <= seeds; seed++) {
    test(`a list of runs matches all journals while index files are deleted, damaged and restored: ${form}, seed ${seed}`, {
      timeout: 600_000,
    }, async () => {
      const store = make()
      const pick = random(seed)
      const saboteur = new Saboteur(store, pick)
      const [runtime, other] = [runtimeOver(store), runtimeOver(store)]
      const trace: string[] = []
      for (let step = 0; step < steps; step++) {
        const strikes = Array.from({ length: pick(3) }, () => saboteur.strike())
        trace.push(await act(runtime, other, pick))
        await Promise.all(strikes)
        if (pick(2) === 0) await saboteur.strike()
        await idle(store)
        await compare(store, runtime, pick, trace)
      }
      await Promise.all([runtime.close(), other.close()])
      await compare(store, runtimeOver(store), pick, trace)
      console.log(
        `${form}, seed ${seed}: ${steps} steps, ${saboteur.strikes} strikes, ${(await runtime.runs()).length} runs at the end, 0 lists that differ`,
      )
    })
  }
}

/** Waits until every run is paused, has ended, or hangs in its tool, so that nothing more is written. */
async function idle(store: Store): Promise<void> {
  await until(async () => {
    const running = (await listByReading(store)).filter(({ status }) => status === "running")
    return running.every(({ task, turns }) => task === "hang" && turns === 1)
  })
}

async function compare(
  store: Store,
  runtime: Runtime,
  pick: (below: number) => number,
  trace: readonly string[],
): Promise<void> {
  const expected = await listByReading(store)
  const history = trace.join("\n")
  // The first check varies, because it repairs the index for the others.
  const checks = [
    async () => expect(await runtime.runs(), history).toEqual(expected),
    async () => expect(await paged(runtime, 1 + pick(4)), history).toEqual(expected),
    ...statuses.map((status) => async () => {
      const fitting = expected.filter((run) => run.status === status)
      expect(await runtime.runs({ status }), `${status}\n${history}`).toEqual(fitting)
      expect(await paged(runtime, 1 + pick(3), { status }), `${status}, paged\n${history}`).toEqual(fitting)
    }),
    async () => {
      const open = expected.filter(({ status }) => status === "running" || status === "paused")
      expect(await runtime.runs({ status: ["running", "paused"] }), history).toEqual(open)
    },
    async () => {
      const { runId = "none" } = expected[pick(Math.max(1, expected.length))] ?? {}
      expect(await runtime.runs({ runId }), history).toEqual(expected.filter((run) => run.runId === runId))
    },
  ]
  const first = pick(checks.length)
  for (const check of [...checks.slice(first), ...checks.slice(0, first)]) await check()
}
