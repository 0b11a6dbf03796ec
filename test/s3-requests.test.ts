import { afterAll, beforeAll, expect, test } from "vitest"
import { LonghaulError } from "../src/contract/error.ts"
import { createRuntime } from "../src/index.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(() => server?.close())

const tools = (["once", "none"] as const).map((effect) =>
  defineTool({
    name: effect,
    description: "Does one thing.",
    effect,
    inputSchema: { type: "object" },
    run: () => "done",
  }),
)
const turnsWith = (name: string, count: number, thinkingMs: number): ScriptedStep[] =>
  Array.from({ length: count }, () => async () => {
    // A model faster than the store would combine several turns in one write.
    await new Promise((resolve) => setTimeout(resolve, thinkingMs))
    return { parts: [{ toolCall: { name, args: {} } }] }
  })

/** The purpose of a request, by its name in the bucket. */
function kindOf(input: string | URL | Request, init?: RequestInit): string {
  const { pathname, searchParams } = new URL(String(input))
  const name = searchParams.has("list-type") ? "list" : /\.jsonl$/.test(pathname) ? "shard" : pathname.split("/").at(-2)
  return `${init?.method} ${name}`
}

test.each(["once", "none"])("a turn with one tool of effect %s costs at most 3 requests", async (name) => {
  const kinds = new Map<string, number>()
  const store = server.freshStore({
    fetch: (input, init) => {
      const kind = kindOf(input, init)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      return fetch(input, init)
    },
  })
  await store.check?.()
  const counted = async (turns: number) => {
    kinds.clear()
    const model = scriptedModel([...turnsWith(name, turns, 100), "That was all."])
    expect(await createRuntime({ store, model, tools }).run({ task: "Work." })).toMatchObject({ status: "done" })
    return new Map(kinds)
  }
  const short = await counted(1)
  const long = await counted(11)
  const perTurn = new Map(Array.from(long, ([kind, count]) => [kind, (count - (short.get(kind) ?? 0)) / 10]))
  const total = [...perTurn.values()].reduce((sum, each) => sum + each, 0)
  const told = (counts: Iterable<[string, number]>) =>
    Array.from(counts, ([kind, count]) => `${count} ${kind}`).join(", ")
  console.log(`requests per turn with one ${name} tool: ${told(perTurn)}; a whole run of 2 turns: ${told(short)}`)
  // Besides these, the inbox is read every 5 seconds, and state.json written every 20.
  expect(total).toBeLessThanOrEqual(3)
  // On a busy machine the flushes of two turns can go together.
  expect(total).toBeGreaterThan(0)
})

test("a page of runs costs two requests for each, and two for the names of all", async () => {
  const prefix = "many-runs"
  const [RUNS, PAGE] = [40, 10]
  const before = createRuntime({
    store: server.freshStore({ prefix }),
    model: scriptedModel(Array.from({ length: RUNS }, () => "Done.")),
  })
  for (let number = 0; number < RUNS; number++) await before.run({ task: `Task ${number}.` })
  await before.fork((await before.runs({ limit: 1 }))[0]?.runId ?? "")
  const kinds = new Map<string, number>()
  const store = server.freshStore({
    prefix,
    fetch: (input, init) => {
      const kind = kindOf(input, init)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      return fetch(input, init)
    },
  })
  const counted = async (work: (runtime: ReturnType<typeof createRuntime>) => Promise<unknown>) => {
    kinds.clear()
    await work(createRuntime({ store }))
    return Object.fromEntries(kinds)
  }
  const page = await counted((runtime) => runtime.runs({ limit: PAGE }))
  const open = await counted((runtime) => runtime.runs({ status: ["running", "paused"] }))
  const recovery = await counted((runtime) => runtime.recoverOrphanedRuns({ staleMs: 0 }))
  console.log(`of ${RUNS} runs: a page of ${PAGE} ${JSON.stringify(page)}, those not over ${JSON.stringify(open)}`)
  expect(page).toEqual({ "GET list": 2 + PAGE, "GET index": PAGE })
  expect(open).toEqual({ "GET list": 3, "GET index": 1 })
  // One survey for orphans and one for webhooks.
  expect(recovery).toEqual({ "GET list": 5, "GET index": 1 })
})

/** Holds every request until nobody asks for more, then lets all of them go: each wave is one round trip. */
function wavesOf(send: typeof fetch): {
  readonly fetch: typeof fetch
  readonly waves: () => number
  readonly largest: () => number
} {
  let waves = 0
  let largest = 0
  let held: (() => void)[] = []
  let quiet: ReturnType<typeof setTimeout> | undefined
  let underWay = 0
  const open = () => {
    if (underWay > 0 || held.length === 0) return
    waves++
    largest = Math.max(largest, held.length)
    const released = held
    held = []
    for (const go of released) go()
  }
  const settle = () => {
    clearTimeout(quiet)
    quiet = setTimeout(open, QUIET_MS)
  }
  return {
    waves: () => waves,
    largest: () => largest,
    async fetch(input, init) {
      await new Promise<void>((go) => {
        held.push(go)
        settle()
      })
      underWay++
      try {
        return await send(input, init)
      } finally {
        underWay--
        settle()
      }
    },
  }
}

const QUIET_MS = 25

/** 400 for all of it: what takes the time is making the run. */
const turns = Number(process.env.LONGHAUL_LONG_RUN ?? 120)
const roundTrips = turns / 8

test(`a run of ${turns} turns is resumed within ${roundTrips} sequential round trips`, async () => {
  const prefix = "long-run"
  const breaks = { fail: new LonghaulError("auth", "The key was revoked.") }
  const before = createRuntime({
    store: server.freshStore({ prefix }),
    model: scriptedModel([...turnsWith("once", turns, 0), breaks]),
    tools,
    limits: { turns: 1000 },
  })
  const broken = await before.run({ task: "Work.", runId: "long" })
  expect(broken).toMatchObject({ status: "failed", error: { code: "auth" } })
  expect(broken.turns).toBeGreaterThanOrEqual(turns)

  const counted = wavesOf(fetch)
  let asked = 0
  const store = server.freshStore({ prefix, fetch: counted.fetch })
  await store.check?.()
  const checked = counted.waves()
  const model = scriptedModel([
    () => {
      asked = counted.waves() - checked
      return "Went on."
    },
  ])
  const resumed = await createRuntime({ store, model, tools, limits: { turns: 1000 } }).resume({ runId: "long" })
  expect(resumed).toMatchObject({ status: "done", text: "Went on." })
  expect(model.calls[0]?.length).toBeGreaterThan(turns * 2)
  console.log(
    `resuming ${turns} turns: ${asked} round trips until the model is asked, at most ${counted.largest()} requests side by side; the check before it: ${checked}`,
  )
  expect(counted.largest()).toBeGreaterThan(8)
  expect(asked).toBeLessThanOrEqual(roundTrips)
})
