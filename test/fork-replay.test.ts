import { setTimeout as pause } from "node:timers/promises"
import { afterAll, expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import { LonghaulError } from "../src/contract/error.ts"
import type { RunEvent, RunRecord } from "../src/contract/event.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import type { Runtime } from "../src/contract/runtime.ts"
import type { Store } from "../src/contract/store.ts"
import { createRuntime } from "../src/index.ts"
import { project } from "../src/journal/projection.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { askUserTool } from "../src/tools/ask-user.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { continueRun, workload } from "./support/workload.ts"

const part = (name: string, args = {}) => ({ toolCall: { name, args } })
const call = (...names: string[]) => ({ parts: [{ text: "Now." }, ...names.map((name) => part(name))] })
const hanging = () => new Promise<never>(() => {})
const overloaded = new LonghaulError("overloaded", "Come back later.")
const noAccount = new LonghaulError("auth", "There is no such account.")
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const

/** Effects outside the journals: model calls and tool runs. */
let happenings = 0

const tools = [
  ...(["none", "repeatable", "once"] as const).map((effect) =>
    defineTool({
      name: effect,
      description: effect,
      effect,
      inputSchema: { type: "object" },
      run: () => `happening ${happenings++}`,
    }),
  ),
  defineTool({
    name: "fails",
    description: "fails",
    inputSchema: { type: "object" },
    run: () => {
      happenings++
      throw new Error("no")
    },
  }),
  askUserTool(),
]

/** A separate process over the store, whose model follows a script. */
function process(store: Store, steps: readonly ScriptedStep[] = [], config: RuntimeConfig = {}): Runtime {
  const counted = steps.map(
    (step): ScriptedStep =>
      async (...asked) => {
        happenings++
        return typeof step === "function" ? step(...asked) : step
      },
  )
  return createRuntime({
    store,
    model: scriptedModel(counted),
    tools,
    backend: native({ retry: { firstMs: 1 } }),
    ...config,
  })
}

const asking: RuntimeConfig = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "May it?" }) } }
const begin = { task: "Work.", runId: "r" }

/** One run for each kind of record and end; each leaves the run `r` in the store. */
const ways: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  "words alone": (store) => process(store, ["Done."]).run({ ...begin, system: "Be brief.", metadata: { a: 1 } }),
  "tools of every effect, side by side, one that fails and one that is not there": (store) =>
    process(store, [
      {
        parts: [
          { reasoning: "Hm.", signature: "s" },
          { text: "Now." },
          ...["none", "once", "none"].map((name) => part(name)),
        ],
      },
      call("fails", "repeatable", "missing"),
      { parts: [{ toolCall: { name: "once", rawArgs: "{" } }] },
      "Done.",
    ]).run(begin),
  "calls that are tried again": (store) =>
    process(store, [{ fail: overloaded }, call("none"), { fail: overloaded }, { fail: overloaded }, "Done."]).run(
      begin,
    ),
  "a model that fails for good": (store) => process(store, [call("once"), { fail: noAccount }]).run(begin),
  "an answer that is cut and goes on": (store) =>
    process(store, [{ parts: [{ text: "One, " }], stopReason: "output-limit" }, "two."]).run(begin),
  "a form that is met": (store) => process(store, ['{"n":1}']).run({ ...begin, outputSchema: schema }),
  "a form that is met after a repair": (store) =>
    process(store, ["One.", '{"n":1}']).run({ ...begin, outputSchema: schema }),
  "a form that is never met": (store) => process(store, ["One.", "Two."]).run({ ...begin, outputSchema: schema }),
  "a limit of turns, raised and gone on from": async (store) => {
    await process(store, [call("once")]).run({ ...begin, limits: { turns: 1 } })
    await process(store, [call("none"), "Done."]).resume({ runId: "r", limits: { turns: 9 } })
  },
  "a limit of tokens": (store) =>
    process(store, [call("once"), call("once"), "Done."]).run({ ...begin, limits: { tokens: 40_000 } }),
  "a limit of time": (store) =>
    process(store, [() => pause(100, "Too late.")]).run({ ...begin, limits: { timeMs: 30 } }),
  "words said to it while it runs": async (store) => {
    const handle = process(store, [call("none"), "Done.", "Done indeed."]).stream(begin)
    handle.steer("Hurry up.")
    for await (const event of handle) if (event.type === "turn-end") handle.steer("And now?")
  },
  "an interrupt that lets the step finish, and a resume": async (store) => {
    const handle = process(store, [call("once"), "Never said."]).stream(begin)
    for await (const event of handle) if (event.type === "tool-call") handle.interrupt()
    await process(store, ["Done."]).resume({ runId: "r", answer: "Do go on." })
  },
  "an interrupt in the middle of a text": async (store) => {
    const handle = process(store, [{ parts: [{ text: "A long answer. ".repeat(20) }] }]).stream(begin)
    for await (const event of handle) if (event.type === "text-delta") handle.interrupt("immediate")
  },
  "a question that is answered after words in the inbox": async (store) => {
    await process(store, [{ parts: [part("AskUser", { question: "Which?" })] }]).run(begin)
    await process(store).steer("r", "By the way.")
    await process(store, ["Done."]).resume({ runId: "r", answer: "That one." })
  },
  "calls that are approved, changed and denied": async (store) => {
    await process(store, [call("once", "repeatable", "none")], asking).run(begin)
    await process(store, [], asking).resume({ runId: "r", decision: "approve", answer: "Only this once." })
    await process(store, [], asking).resume({ runId: "r", decision: "approve", args: { less: true } })
    await process(store, [], asking).resume({ runId: "r", decision: "approve" })
    await process(store, ["Done."], asking).resume({ runId: "r", decision: "deny", answer: "No." })
  },
  "a pause that is cancelled": async (store) => {
    await process(store, [call("once")], asking).run(begin)
    await process(store).cancel("r")
  },
  "a cancel from another process": async (store) => {
    const stopped = defineTool({
      name: "stopped",
      description: "until it is stopped",
      inputSchema: { type: "object" },
      run: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
    })
    const handle = process(store, [call("stopped")], { tools: [stopped] }).stream(begin)
    for await (const event of handle) if (event.type === "tool-intent") await process(store).cancel("r")
  },
  "a call whose process was lost, told to the model": async (store) => {
    await lost(store)
    await process(store, ["Done."]).resume({ runId: "r", takeover: true })
  },
  "a call whose process was lost, decided by a person": async (store) => {
    await lost(store, "pause")
    await process(store).resume({ runId: "r", takeover: true })
    await process(store, ["Done."]).resume({ runId: "r", decision: "approve" })
  },
  "a run that is marked as lost": async (store) => {
    await lost(store)
    await process(store).recoverOrphanedRuns({ staleMs: 1 })
  },
  "a fork that went on": async (store) => {
    await process(store, [call("once"), call("none"), "Done."]).run({ ...begin, runId: "first" })
    await process(store).fork("first", { at: 12, newRunId: "r" })
    await process(store, ["Otherwise."]).resume({ runId: "r", answer: "Now otherwise." })
  },
  "everything that the crash tests do": async (store) => {
    const config = workload(() => happenings++)
    for (
      let state = await continueRun(createRuntime({ store, ...config }), undefined, () => {});
      state.status === "paused";
    )
      state = await continueRun(createRuntime({ store, ...config }), state, () => {})
  },
}

/** Its process dies in the middle of a call: only the journal is left. */
async function lost(store: Store, unknownOutcome: "tell" | "pause" = "tell"): Promise<void> {
  let begun = () => {}
  const began = new Promise<void>((resolve) => {
    begun = resolve
  })
  const stuck = defineTool({
    name: "once",
    description: "once",
    inputSchema: { type: "object" },
    run: () => {
      begun()
      return hanging()
    },
  })
  void process(store, [call("once", "none")], { tools: [stuck, ...tools.filter(({ name }) => name !== "once")] }).run({
    ...begin,
    unknownOutcome,
  })
  await began
}

async function recordsOf(runtime: Runtime, runId: string): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of runtime.events(runId)) records.push(record)
  return records
}

/** Without what is a fork's own: its name, and the tickets of its questions. */
function named(record: RunRecord) {
  if (record.type === "approval-request") return { ...record, ticket: "" }
  return record.type === "run-start" ? { ...record, runId: "", forkOf: undefined } : record
}

test.each(Object.entries(ways))(
  "%s: a fork at every record has the state there, a replay repeats all records, and nothing is called",
  async (_, live) => {
    const store = memoryStore()
    await live(store)
    const runtime = process(store)
    const records = await recordsOf(runtime, "r")
    expect(records.length).toBeGreaterThan(3)
    const before = happenings
    for (const { seq } of records) {
      const { runId } = await runtime.fork("r", { at: seq })
      const copy = await recordsOf(runtime, runId)
      expect(copy.slice(0, -1).map(named)).toEqual(records.slice(0, seq + 1).map(named))
      expect(copy.at(-1)).toMatchObject({ type: "run-pause", reason: "fork" })
      // A fork that continues like the run ends like it: internal state of the fold is equal too.
      const [original, forked] = [project(records), project([...copy.slice(0, -1), ...records.slice(seq + 1)])]
      // Its cost differs, because the original run paid for the copied part, and a copied approval is not valid for it.
      const own = { runId: "", forkOf: null, usage: null, spent: null, ask: null, activeMs: null }
      expect({ ...forked, ...own }).toEqual({ ...original, ...own })
      await replaysAsItIs(runtime, runId, copy)
    }
    await replaysAsItIs(runtime, "r", records)
    expect(happenings).toBe(before)
    journals++
    forks += records.length
    replays += records.length + 1
  },
)

test("a fork and its origin together cost what was paid: usage is not counted twice", async () => {
  const store = memoryStore()
  const usage = { inputTokens: 100, outputTokens: 10 }
  const runtime = process(
    store,
    [
      { ...call("none"), usage },
      { parts: [{ text: "One." }], usage },
      { parts: [{ text: "Two." }], usage },
    ],
    {
      resolvePricing: () => ({ input: 1000, output: 1000 }),
    },
  )
  const origin = await runtime.run({ task: "x", runId: "origin" })
  const { runId } = await runtime.fork("origin", { at: 9 })
  expect((await runtime.status(runId)).usage).toMatchObject({ inputTokens: 0, outputTokens: 0, costUsd: 0 })
  const forked = await runtime.resume({ runId })
  expect(forked).toMatchObject({ status: "done", text: "Two." })
  expect(origin.usage).toMatchObject({ inputTokens: 200, outputTokens: 20 })
  expect(forked.usage).toMatchObject({ inputTokens: 100, outputTokens: 10 })
  expect(forked.usage.costUsd).toBeCloseTo((origin.usage.costUsd ?? 0) / 2)
})

let [journals, forks, replays] = [0, 0, 0]
afterAll(() => console.log(`${journals} journals: ${forks} forks, ${replays} replays, no model asked, no tool run`))

async function replaysAsItIs(runtime: Runtime, runId: string, records: readonly RunRecord[]): Promise<void> {
  const told: RunEvent[] = []
  const state = await runtime.replay(runId, { onEvent: (event) => told.push(event) })
  expect(told).toEqual(records)
  expect(state).toEqual(await runtime.status(runId))
}

test("the fork and replay runs contain every kind of record", async () => {
  const types = new Set<RunRecord["type"]>()
  for (const live of Object.values(ways)) {
    const store = memoryStore()
    await live(store)
    for (const { type } of await recordsOf(process(store), "r")) types.add(type)
  }
  const all = [
    ...["run-start", "run-resume", "choice", "session", "warning", "turn-start", "retry", "reasoning-end", "text-end"],
    ...["tool-call", "usage", "approval-request", "approval-result", "tool-intent", "tool-result", "steer"],
    ...["interrupt", "cancel", "turn-end", "run-pause", "run-end"],
  ]
  expect(Array.from(types).sort()).toEqual(expect.arrayContaining(all.sort()))
})
