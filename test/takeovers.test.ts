import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { RunRecord } from "../src/contract/event.ts"
import type { Json } from "../src/contract/json.ts"
import type { AppendFile, Folder, Store } from "../src/contract/store.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { runPath, shardName } from "../src/journal/paths.ts"
import { readRow } from "../src/journal/reader.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"
import { until, WATCHDOG_MS } from "./support/watchdog.ts"

const races = Number(process.env.LONGHAUL_TAKEOVERS ?? 8)
const TURNS = 8
/** How many processes take a run from the first one, and how often each. */
const TAKERS = 3
const ATTEMPTS = 4

const scratch = mkdtempSync(join(tmpdir(), "longhaul-takeovers-"))
let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(async () => {
  await server?.close()
  rmSync(scratch, { recursive: true, force: true })
})

let made = 0
const freshRoot = () => join(scratch, `store-${made++}`)
const stores: readonly (readonly [string, () => Store])[] = [
  ["memory", memoryStore],
  ["appending disk", () => fsStore(freshRoot())],
  ["create-only disk", () => createOnlyStore(freshRoot())],
  ["S3", () => server.freshStore()],
]

test.each(stores)(
  "%s: four processes that take one run from each other at any time leave a sound journal",
  {
    timeout: WATCHDOG_MS + races * 10_000,
  },
  async (name, makeStore) => {
    let takes = 0
    // A run in a bucket takes seconds.
    const count = name === "S3" ? Math.ceil(races / 4) : races
    for (let seed = 1; seed <= count; seed++) {
      const records = await race(makeStore(), seed)
      expect(faultsIn(records), `seed ${seed}`).toEqual([])
      takes += records.filter(({ type }) => type === "run-resume").length
    }
    console.log(`${name}: ${count} runs, four processes each, ${takes} takeovers recorded, 0 unsound journals`)
    expect(takes).toBeGreaterThan(0)
  },
)

/** One run that four processes take from each other, each delayed at random; its records once it is done. */
async function race(store: Store, seed: number): Promise<readonly RunRecord[]> {
  const random = randomNumbers(seed)
  const folder = store.folder(runPath({ workspaceId: "default", runId: "r", nodeId: "main" }))
  // A call takes as long as a few writes to this store, so that others can come in between.
  const clock = store.folder("clock")
  let ticks = 0
  const work = async () => {
    for (let writes = random() * 12; writes > 0; writes--) await clock.create(`tick-${ticks++}`, new Uint8Array())
  }
  let attempts = TAKERS * ATTEMPTS
  const isTaken = async () =>
    attempts === 0 || (await readRow(folder)).row?.records.some(({ type }) => type === "run-resume") === true
  const slow = (process: string, work: () => Promise<void>) => processOn(delayed(store, random), process, work)
  // However fast its process is, no run is done before others have taken it, or have tried to.
  const first = slow("p0", () => until(isTaken).then(work)).run({ task: "work", runId: "r" })
  const taking = Array.from({ length: TAKERS }, async (_, index) => {
    const runtime = slow(`p${index + 1}`, work)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await until(() => folder.exists(shardName(0)))
      await pauses(random() * 40)
      await runtime.resume({ runId: "r", takeover: true })
      attempts--
    }
  })
  await Promise.all([first, ...taking])
  const last = processOn(store, "last", async () => {})
  await last.resume({ runId: "r", takeover: true })
  expect(await last.status("r")).toMatchObject({ status: "done", turns: TURNS + 1 })
  const { row } = await readRow(folder)
  return row?.records ?? []
}

/** Its calls say which process made them, so that a call that got another one's id or result is visible. */
function processOn(store: Store, process: string, work: () => Promise<void>) {
  let made = 0
  const next: ScriptedStep = (messages) => {
    const turn = messages.filter(({ role }) => role === "assistant").length
    return turn < TURNS ? { parts: [{ toolCall: { name: "put", args: { by: `${process}-${made++}` } } }] } : "Done."
  }
  const put = defineTool({
    name: "put",
    description: "Puts.",
    inputSchema: { type: "object", properties: { by: { type: "string" } } },
    effect: "once",
    async run({ by }: { by?: string }) {
      await work()
      return `put ${by}`
    },
  })
  const model = scriptedModel(Array.from({ length: 100 }, () => next))
  return createRuntime({
    store,
    model,
    tools: [put],
    workspace: join(scratch, "workspace"),
    env: {},
    owner: { process },
  })
}

/** Everything in a journal that one owner after the other could not have written. */
function faultsIn(records: readonly RunRecord[]): string[] {
  const faults: string[] = []
  const called = new Map<string, Json>()
  const settled = new Set<string>()
  for (const [index, record] of records.entries()) {
    if (record.seq !== index) faults.push(`record ${index} has the number ${record.seq}`)
    if (record.type === "tool-call") {
      if (called.has(record.callId)) faults.push(`${record.callId} was used for two calls`)
      called.set(record.callId, record.args)
    }
    if (record.type === "tool-intent" && !called.has(record.callId)) faults.push(`an intent without ${record.callId}`)
    if (record.type === "tool-result") {
      if (!called.has(record.callId)) faults.push(`a result without ${record.callId}`)
      if (settled.has(record.callId)) faults.push(`two results of ${record.callId}`)
      settled.add(record.callId)
      // A call that was running during a takeover may have an unknown outcome.
      const args = called.get(record.callId) as { by?: string } | undefined
      const text = JSON.stringify(record.outcome)
      if (record.outcome.status === "ok" && !text.includes(`put ${args?.by}`))
        faults.push(`another call's result: ${text}`)
    }
  }
  for (const callId of called.keys()) if (!settled.has(callId)) faults.push(`${callId} has no result`)
  // A process that took the ended run and found nothing to do leaves a warning.
  const last = records.findLast(({ type }) => type !== "warning")
  if (last?.type !== "run-end") faults.push(`it ends with ${last?.type}`)
  return faults
}

/** A store of which every operation on shards may take its time, before and after. */
function delayed(store: Store, random: () => number): Store {
  const late = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    await pauses(random() * 6)
    const value = await work()
    await pauses(random() * 6)
    return value
  }
  const lateFile = (file: AppendFile): AppendFile => ({
    write: (bytes) => late(() => file.write(bytes)),
    stands: () => late(() => file.stands()),
    close: () => file.close(),
  })
  return {
    ...store,
    folder(path): Folder {
      const inner = store.folder(path)
      const { append } = inner
      return {
        ...inner,
        read: (name) => late(() => inner.read(name)),
        exists: (name) => late(() => inner.exists(name)),
        list: () => late(() => inner.list()),
        create: (name, bytes) => late(() => inner.create(name, bytes)),
        ...(append && {
          append: {
            ...append,
            open: async (name: string, first: Uint8Array) => {
              const file = await late(() => append.open(name, first))
              return file && lateFile(file)
            },
            readFrom: (name: string, offset: number) => late(() => append.readFrom(name, offset)),
          },
        }),
      }
    },
  }
}

/** In turns of the event loop, not in time: a busy machine has the same races. */
async function pauses(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

function randomNumbers(seed: number): () => number {
  let state = seed * 7919 + 1
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  }
}
