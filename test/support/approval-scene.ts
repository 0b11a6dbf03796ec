import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import type { RecordBody, RunRecord } from "../../src/contract/event.ts"
import type { Json } from "../../src/contract/json.ts"
import type { ApprovalDecision, ApprovalRequest, PolicyService, ServiceVerdict } from "../../src/contract/policy.ts"
import type { RunResult } from "../../src/contract/result.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import type { Store } from "../../src/contract/store.ts"
import { createRuntime, fsStore, type NodeRuntimeConfig } from "../../src/hosts/node/index.ts"
import { processOwner } from "../../src/hosts/node/owner.ts"
import { takeRun } from "../../src/journal/journal.ts"
import { runPath } from "../../src/journal/paths.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-approvals-"))
const runtimes: Runtime[] = []
afterAll(async () => {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.close()))
  rmSync(scratch, { recursive: true, force: true })
})

export const stores: readonly (readonly [string, () => Store])[] = [
  ["memory", memoryStore],
  ["disk", () => fsStore(mkdtempSync(join(scratch, "store-")))],
]

export const part = (name: string, args: Json = {}) => ({ toolCall: { name, args } })
export const calls = (...parts: ReturnType<typeof part>[]): ScriptedStep => ({ parts })
export const act = (args: Json = {}) => calls(part("act", args))

export const pauses = { policy: { ask: "pause" } } as const
export const ticketOf = ({ pause }: RunResult) => pause?.pendingToolCall?.ticket ?? ""

/** A service that says the same about each call; outputs pass. */
export const service = (verdict: ServiceVerdict | (() => ServiceVerdict | Promise<ServiceVerdict>)): PolicyService => ({
  decide: async () => (typeof verdict === "function" ? verdict() : verdict),
  scan: async () => ({ decision: "allow" }),
})

/** A high-risk tool that records the arguments that it received, outside of the run. */
export function acting(ran: Json[], more: object = {}) {
  return defineTool({
    name: "act",
    description: "acts",
    inputSchema: { type: "object" },
    risk: "high",
    run: (args: { readonly [key: string]: Json }) => {
      ran.push(args)
      return `acted ${ran.length}`
    },
    ...more,
  })
}

/** Another process over the store. `ran`: what its tool `act` received. */
export function processOver(store: Store, steps: readonly ScriptedStep[], config: NodeRuntimeConfig = {}) {
  const ran: Json[] = []
  const model = scriptedModel(steps)
  const runtime = createRuntime({ store, model, workspace: scratch, env: {}, tools: [acting(ran)], ...config })
  runtimes.push(runtime)
  return { ran, model, runtime }
}

/** Returns the decisions in order, and the requests that it received. */
export function asker(...decisions: ApprovalDecision[]) {
  const requests: ApprovalRequest[] = []
  const onAsk = (request: ApprovalRequest): ApprovalDecision => {
    requests.push(request)
    const decision = decisions[requests.length - 1]
    if (decision === undefined) throw new Error("asked too often")
    return decision
  }
  return { requests, onAsk }
}

export async function recordsOf(runtime: Runtime, runId: string): Promise<RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of runtime.events(runId)) records.push(record)
  return records
}

/** Higher than any Linux pid: no process has it. */
const deadOwner = { ...processOwner(), pid: 2 ** 23 }

/** Writes a run as a process left it that died after these records. */
export async function leaveRun(store: Store, runId: string, records: readonly RecordBody[]): Promise<void> {
  const journal = await takeRun(store.folder(runPath({ workspaceId: "default", runId, nodeId: "main" })), {
    owner: deadOwner,
    first: () => records.map((record) => (record.type === "run-start" ? { ...record, runId } : record)),
  })
  await journal.release()
}

/** The records up to and including the last one of a type. */
export function upTo(records: readonly RunRecord[], type: RunRecord["type"]): readonly RunRecord[] {
  return records.slice(0, records.findLastIndex((record) => record.type === type) + 1)
}
