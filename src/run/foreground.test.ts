import { expect, test } from "vitest"
import type { RuntimeConfig } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import { createRuntime } from "../index.ts"
import { runPath } from "../journal/paths.ts"
import { memoryStore } from "../stores/memory.ts"
import { scriptedModel } from "../testing/index.ts"
import { defineTool } from "../tools/kernel/define-tool.ts"

const hooks = {
  gateBeforeTool: (_: string, { args }: { args: unknown }) =>
    JSON.stringify(args).includes("2") ? { allow: false as const, reason: "Two?" } : { allow: true as const },
}

/** A runtime whose run calls a tool, pauses for a decision about the second call, and continues, always with the same text. */
async function open(config: RuntimeConfig = {}) {
  const store = memoryStore()
  // Keys begin with a digest of the store's id, which is random.
  await store.folder(".longhaul").create("store.json", new TextEncoder().encode(JSON.stringify({ id: "0".repeat(32) })))
  const steps = [1, 2].map((n) => ({ parts: [{ toolCall: { name: "count", args: { n } } }] }))
  const done: unknown[] = []
  const tool = defineTool({
    name: "count",
    description: "Counts.",
    inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    run: ({ n }) => done.push(n) && `${String(n)} counted`,
  })
  const runtime = createRuntime({
    store,
    model: scriptedModel([...steps, "All counted."]),
    tools: [tool],
    hooks,
    ...config,
  })
  return { runtime, store, done }
}

const changing = new Set([
  "askedAt",
  "at",
  "calledAt",
  "durationMs",
  "pausedAt",
  "ref",
  "sessionId",
  "startedAt",
  "ticket",
  "timestamp",
  "updatedAt",
])

/** Removes times and random names, which differ between runs. */
function lasting(value: object): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (changing.has(key) ? null : inner)))
}

async function recordsOf(runtime: Runtime): Promise<unknown[]> {
  const records: unknown[] = []
  for await (const record of runtime.events("r")) records.push(lasting(record))
  return records
}

test("a foreground run is unaffected by background settings and equals a background run", {
  tags: ["ASY-11"],
}, async () => {
  const plain = await open()
  const expected = [
    await plain.runtime.run({ task: "Count.", runId: "r" }),
    await plain.runtime.resume({ runId: "r", decision: "approve" }),
  ].map(lasting)
  expect(expected).toMatchObject([{ status: "paused" }, { status: "done", text: "All counted." }])

  const handed: Promise<unknown>[] = []
  const executor = { run: (work: Promise<unknown>) => void handed.push(work) }
  const webhook = { url: "https://receiver.example/", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }
  const other = await open({ executor, webhook })
  const foreground = [
    await other.runtime.run({ task: "Count.", runId: "r" }),
    await other.runtime.resume({ runId: "r", decision: "approve" }),
  ].map(lasting)
  expect(handed).toEqual([])
  expect(foreground).toEqual(expected)
  expect(await recordsOf(other.runtime)).toEqual(await recordsOf(plain.runtime))
  const folder = { workspaceId: "default", runId: "r", nodeId: "main" }
  const names = (store: ReturnType<typeof memoryStore>) => store.folder(runPath(folder)).list()
  expect(await names(other.store)).toEqual(await names(plain.store))

  const background = await open()
  await background.runtime.start({ task: "Count.", runId: "r" })
  const paused = await background.runtime.waitFor("r")
  await background.runtime.resumeAsync({ runId: "r", decision: "approve" })
  expect([paused, await background.runtime.waitFor("r")].map(lasting)).toEqual(expected)
  expect(await recordsOf(background.runtime)).toEqual(await recordsOf(plain.runtime))
  expect([plain.done, other.done, background.done]).toEqual([
    [1, 2],
    [1, 2],
    [1, 2],
  ])
})
