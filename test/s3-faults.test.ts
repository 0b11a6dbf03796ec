import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { RunRecord } from "../src/contract/event.ts"
import type { Store } from "../src/contract/store.ts"
import { createRuntime } from "../src/index.ts"
import { takeRun } from "../src/journal/journal.ts"
import { createReader } from "../src/journal/reader.ts"
import { s3Store } from "../src/stores/s3/index.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { type S3Fault, type S3Proxy, startS3Proxy } from "./support/s3-proxy.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"
import { random } from "./support/scene.ts"

let server: S3Server
let proxy: S3Proxy
let decide: Parameters<typeof startS3Proxy>[1] = () => undefined
beforeAll(async () => {
  server = await startS3()
  proxy = await startS3Proxy(server.endpoint, (exchange) => decide(exchange))
})
afterAll(async () => {
  await proxy?.close()
  await server?.close()
})

let made = 0
/** The same place in the bucket twice: through the faulty proxy, and directly. */
function stores(): { faulty: Store; sound: Store } {
  const prefix = `faults-${made++}`
  decide = () => undefined
  return {
    faulty: s3Store({ ...server.options, endpoint: proxy.endpoint, prefix, timeoutMs: 300 }),
    sound: s3Store({ ...server.options, prefix }),
  }
}

const note = (index: number) => ({ type: "warning", code: "note", message: `note ${index}` }) as const

/** Flushes notes one by one; returns the acknowledged ones and the final error. */
async function flushNotes(store: Store, count: number): Promise<{ acknowledged: RunRecord[]; failure?: unknown }> {
  const acknowledged: RunRecord[] = []
  try {
    const journal = await takeRun(store.folder("run"), {
      first: () => [note(0)],
      acknowledged: (records) => acknowledged.push(...records),
    })
    for (let index = 1; index < count; index++) {
      journal.append(note(index))
      await journal.flush()
    }
    await journal.release()
    return { acknowledged }
  } catch (failure) {
    return { acknowledged, failure }
  }
}

async function historyOf(store: Store): Promise<readonly RunRecord[]> {
  await proxy.settled()
  return createReader(store.folder("run")).next()
}

const writeFaults: readonly S3Fault[] = ["refused-500", "refused-503", "refused-409", "lost", "silent", "late", "slow"]

describe("a journal on a faulty store loses nothing and repeats nothing", () => {
  test.each(writeFaults)("every third write fails with %s", async (fault) => {
    const { faulty, sound } = stores()
    await faulty.check?.()
    let writes = 0
    const before = proxy.happened.get(fault) ?? 0
    decide = ({ method }) => (method === "PUT" && ++writes % 3 === 0 ? fault : undefined)
    const { acknowledged, failure } = await flushNotes(faulty, 12)
    expect(failure).toBeUndefined()
    expect(acknowledged.map((record) => record.type === "warning" && record.message)).toEqual(
      Array.from({ length: 12 }, (_, index) => `note ${index}`),
    )
    expect(await historyOf(sound)).toEqual(acknowledged)
    expect((proxy.happened.get(fault) ?? 0) - before).toBeGreaterThan(2)
  })

  test("failed reads, stale listings and failed lookups are retried", async () => {
    const { faulty, sound } = stores()
    const first = await flushNotes(faulty, 5)
    // The current listing is what later ones will return.
    await faulty.folder("run").list()
    const second = await flushNotes(sound, 5)
    const faults: readonly S3Fault[] = ["half", "refused-500", "silent", "refused-503"]
    const broken = new Set<string>()
    decide = ({ method, path }) => {
      if (path.includes("list-type")) return "stale"
      // Once per object: a read has a few attempts, and reads of several objects interleave.
      if (method === "PUT" || broken.has(path)) return undefined
      broken.add(path)
      return faults[broken.size % faults.length]
    }
    const third = await flushNotes(faulty, 5)
    const told = [...first.acknowledged, ...second.acknowledged, ...third.acknowledged]
    expect(third.failure).toBeUndefined()
    expect(told).toHaveLength(15)
    expect(await historyOf(sound)).toEqual(told)
    for (const fault of ["stale", ...faults] as const) expect(proxy.happened.get(fault)).toBeGreaterThan(0)
  })

  test("a store that stays unreachable gives a typed error, and acknowledged records are kept", async () => {
    const { faulty, sound } = stores()
    await faulty.check?.()
    let writes = 0
    decide = ({ method }) => (method === "PUT" && ++writes > 4 ? "refused-503" : undefined)
    const { acknowledged, failure } = await flushNotes(faulty, 12)
    expect(failure).toMatchObject({
      code: "storage",
      retryable: true,
      message: expect.stringContaining("503 SlowDown"),
    })
    expect(acknowledged).toHaveLength(4)
    expect(await historyOf(sound)).toEqual(acknowledged)
  })

  test("a write that lands after its sender timed out counts once, however often it was sent", async () => {
    const { faulty, sound } = stores()
    await faulty.check?.()
    let writes = 0
    decide = ({ method }) => (method === "PUT" && ++writes > 3 ? "late" : undefined)
    const { acknowledged, failure } = await flushNotes(faulty, 6)
    expect(failure).toMatchObject({ code: "storage" })
    expect(acknowledged).toHaveLength(3)
    const history = await historyOf(sound)
    expect(history.slice(0, 3)).toEqual(acknowledged)
    expect(history.slice(3)).toEqual([expect.objectContaining(note(3))])
  })
})

describe("a multipart body", () => {
  const bytes = new Uint8Array(17 * 1024 * 1024).fill(7)

  test("a multipart upload is completed once, even if the response is lost", async () => {
    const prefix = `faults-${made++}`
    const store = s3Store({ ...server.options, endpoint: proxy.endpoint, prefix, timeoutMs: 5000 })
    const asked: string[] = []
    decide = ({ method, path }) => {
      const step = path.includes("partNumber") ? "part" : path.includes("uploadId") ? "complete" : "begin"
      asked.push(`${method} ${step}`)
      if (step === "part" && asked.filter((each) => each === "PUT part").length === 2) return "refused-500"
      return step === "complete" && asked.filter((each) => each === "POST complete").length === 1 ? "lost" : undefined
    }
    await store.folder("run").replace("large", bytes)
    const times = (step: string) => asked.filter((each) => each === step).length
    expect([times("POST begin"), times("POST complete")]).toEqual([1, 2])
    // Three parts, of which one was refused; where everything is slow, another may be sent again.
    expect(times("PUT part")).toBeGreaterThanOrEqual(4)
    decide = () => undefined
    expect(Buffer.compare(Buffer.from((await store.folder("run").read("large")) ?? []), bytes)).toBe(0)
  })

  test("a multipart upload that cannot finish is aborted, and the name keeps its content", async () => {
    const prefix = `faults-${made++}`
    const store = s3Store({ ...server.options, endpoint: proxy.endpoint, prefix, timeoutMs: 5000 })
    await store.folder("run").replace("large", new Uint8Array([1]))
    let aborted = 0
    decide = ({ method, path }) => {
      if (method === "DELETE" && path.includes("uploadId")) aborted++
      return path.includes("partNumber=3") ? "refused-500" : undefined
    }
    await expect(store.folder("run").replace("large", bytes)).rejects.toMatchObject({ code: "storage" })
    decide = () => undefined
    expect(aborted).toBe(1)
    expect(await store.folder("run").read("large")).toEqual(new Uint8Array([1]))
  })
})

test("runs over a faulty store end normally or with a typed error, and no effect happens twice", async () => {
  const pick = random(7)
  const mix: readonly S3Fault[] = [
    "refused-500",
    "refused-503",
    "refused-409",
    "lost",
    "silent",
    "late",
    "half",
    "slow",
  ]
  const { faulty, sound } = stores()
  decide = () => (pick(6) === 0 ? mix[pick(mix.length)] : undefined)
  const effects: string[] = []
  const pay = defineTool({
    name: "Pay",
    description: "Pays.",
    effect: "once",
    inputSchema: { type: "object", properties: { invoice: { type: "string" } }, required: ["invoice"] },
    run: ({ invoice }: { invoice: string }) => {
      effects.push(invoice)
      return "paid"
    },
  })
  const endings = new Map<string, number>()
  for (let run = 0; run < 6; run++) {
    const invoices = [0, 1, 2].map((each) => `${run}-${each}`)
    const model = scriptedModel([
      ...invoices.map((invoice) => ({ parts: [{ toolCall: { name: "Pay", args: { invoice } } }] })),
      "All paid.",
    ])
    const runtime = createRuntime({ store: faulty, model, tools: [pay] })
    const result = await runtime.run({ task: "Pay.", runId: `run-${run}` })
    const ending = result.error?.code ?? result.status
    endings.set(ending, (endings.get(ending) ?? 0) + 1)
    expect(["done", "storage"]).toContain(ending)
    await proxy.settled()
    const read = await createRuntime({ store: sound, model }).status(`run-${run}`)
    if (ending === "done") expect(read).toMatchObject({ status: "done", text: "All paid." })
    const paid = read.toolCalls.filter(({ status }) => status === "ok").map(({ args }) => args)
    const done = effects.filter((invoice) => invoice.startsWith(`${run}-`))
    expect(new Set(done).size).toBe(done.length)
    if (ending === "done") expect(paid).toEqual(done.map((invoice) => ({ invoice })))
  }
  console.log(
    `6 runs: ${[...endings].map(([ending, count]) => `${count} ${ending}`).join(", ")}; faults of all tests: ${[...proxy.happened].map(([fault, count]) => `${count} ${fault}`).join(", ")}`,
  )
  expect(endings.get("done")).toBeGreaterThan(0)
})
