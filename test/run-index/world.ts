import type { RunRecord } from "../../src/contract/event.ts"
import type { Message } from "../../src/contract/message.ts"
import type { RunFilter, RunSummary, RuntimeConfig } from "../../src/contract/run.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import type { Store } from "../../src/contract/store.ts"
import { createRuntime, LonghaulError } from "../../src/index.ts"
import { type ScriptedOutcome, scriptedModel } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"

const LONGHAUL = "workspaces/default/.longhaul"
export const INDEX = `${LONGHAUL}/index`
export const PROJECTS = `${LONGHAUL}/projects`

/** A runtime whose tasks define how a run ends: `done`, `fail`, `ask` (for approval) or `hang` (until cancelled). */
export function runtimeOver(store: Store, more: Partial<RuntimeConfig> = {}): Runtime {
  return createRuntime({
    store,
    model: scriptedModel(Array.from({ length: 5000 }, () => answer)),
    tools: [pay, wait],
    hooks: {
      gateBeforeTool: (name) => (name === "pay" ? { allow: false, reason: "May it pay?" } : { allow: true }),
    },
    ...more,
  })
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "once",
  inputSchema: { type: "object" },
  run: () => "paid",
})

/** Waits until the run is cancelled. Its turn is durable before it starts. */
export const wait = waiting("wait")

/** A payment that does not return until the run is cancelled. */
export const hangingPay = (began: () => void) => waiting("pay", began)

function waiting(name: string, began = () => {}) {
  return defineTool({
    name,
    description: name,
    effect: "once",
    inputSchema: { type: "object" },
    run: (_, { signal }) =>
      new Promise<string>((resolve) => {
        signal.addEventListener("abort", () => resolve("Waited."), { once: true })
        began()
      }),
  })
}

async function answer(messages: readonly Message[]): Promise<ScriptedOutcome> {
  const last = messages.at(-1)
  if (last?.role !== "user") return "Went on."
  const task = JSON.stringify(last.content)
  if (task.includes("fail")) return { fail: new LonghaulError("auth", "The key was revoked.") }
  if (task.includes("ask")) return { parts: [{ toolCall: { name: "pay", args: {} } }] }
  if (task.includes("hang")) return { parts: [{ toolCall: { name: "wait", args: {} } }] }
  return "Done."
}

/** The expected list of all runs: reads every journal through public methods, without the index. */
export async function listByReading(store: Store): Promise<RunSummary[]> {
  const runtime = runtimeOver(store)
  const summaries: RunSummary[] = []
  for (const runId of (await store.list(PROJECTS)).filter((name) => !name.includes("~"))) {
    for (const nodeId of await store.list(`${PROJECTS}/${runId}/nodes`)) {
      const state = await runtime.status(runId, nodeId)
      if (state.status === "not_found" || state.status === "queued") continue
      const { workspaceId, status, turns, timestamp, pause } = state
      const reason = pause && { pause: pause.reason }
      const start = await firstOf(runtime.events(runId, { nodeId }))
      const now = { status, ...reason, turns, updatedAt: timestamp }
      summaries.push({ workspaceId, runId, nodeId, ...beginningOf(start), ...now })
    }
  }
  return summaries.sort(
    (left, right) =>
      right.startedAt - left.startedAt || order(left.runId, right.runId) || order(left.nodeId, right.nodeId),
  )
}

async function firstOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of items) return item
  return undefined
}

function beginningOf(start: RunRecord | undefined): Pick<RunSummary, "startedAt" | "task" | "continues"> {
  if (start?.type !== "run-start") throw new Error("A run has no run-start record.")
  const { at: startedAt, input, continues } = start
  const task = input.messages.findLast(({ role }) => role === "user")
  const text = JSON.stringify(task?.content).match(/"text":"([^"]*)"/)?.[1] ?? String(task?.content)
  return { startedAt, task: text, ...(continues !== undefined && { continues }) }
}

function order(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Requests all pages of a filter, one after another. */
export async function paged(runtime: Runtime, limit: number, filter: RunFilter = {}): Promise<RunSummary[]> {
  const all: RunSummary[] = []
  for (;;) {
    const before = all.at(-1)
    const page = await runtime.runs({ ...filter, limit, ...(before && { before }) })
    all.push(...page)
    if (page.length < limit) return all
  }
}
