import type { Told, ToolEnforcement } from "../contract/capabilities.ts"
import { type Failure, LonghaulError } from "../contract/error.ts"
import type {
  CapabilitiesUsed,
  PendingToolCall,
  RunFacts,
  RunResult,
  StoppedResult,
  ToolCallRecord,
  Usage,
} from "../contract/result.ts"
import type { RunSummary } from "../contract/run.ts"
import type { UnfinishedRun } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import { plainText } from "../lib/content.ts"
import { addUsage } from "../lib/usage.ts"
import type { ProjectedCall } from "./projected-call.ts"
import { RunProjection } from "./projection.ts"

/** The state of an active run. */
type RunningRun = UnfinishedRun & { readonly status: "running" }

/** Where a run is stored. */
interface Stored {
  readonly workspaceId: string
  readonly path: string
  readonly lastShard: number
}

/** Returns the result of a run with any status. */
export function resultOf(run: RunProjection, stored: Stored): RunResult | RunningRun {
  const facts = factsOf(run, stored)
  switch (run.status) {
    case "running":
      return { ...facts, status: "running", data: null }
    case "done":
      return { ...facts, status: "done", data: run.output ? run.output.data : run.text }
    case "paused": {
      const pending = pendingOf(run)
      const data = pending && { question: pending.question, tool: pending.name, args: pending.args }
      const { at, ...pause } = run.pause ?? { reason: "approval", at: run.updatedAt }
      return { ...facts, status: "paused", data, pause: { ...pause, pendingToolCall: pending, askedAt: at } }
    }
    default:
      return { ...facts, status: run.status, data: null, error: run.error ?? withoutReason }
  }
}

/** The result of a run that this process had to stop for a reason that it cannot record. */
export function stoppedResult(run: RunProjection, stored: Stored, error: Failure): StoppedResult {
  return { ...factsOf(run, stored, "failed"), status: "failed", data: null, error }
}

const withoutReason = new LonghaulError("internal", "The run ended without a recorded reason.").toJSON()

function factsOf(run: RunProjection, { workspaceId, path, lastShard }: Stored, status = run.status): RunFacts {
  return {
    workspaceId,
    runId: run.runId,
    nodeId: run.nodeId,
    ...(run.input?.metadata && { metadata: run.input.metadata }),
    text: run.text,
    ...(run.input?.outputCheck?.name !== undefined && { outputSchema: run.input.outputCheck.name }),
    ...(run.output && { structuredSource: run.output.source }),
    usage: addUsage(run.usage, run.agents.usage),
    turns: run.turns + run.agents.turns,
    durationMs: run.durationMs,
    backend: run.route.backend,
    model: run.route.model ?? null,
    ...(run.input?.effort !== undefined && { effort: run.input.effort }),
    sessionId: run.route.session?.id ?? null,
    toolCalls: Array.from(run.calls.values(), (call) => callRecord(call, status)),
    toolCallCount: run.calls.count,
    capabilitiesUsed: capabilitiesUsed(run),
    failover: run.route.failover,
    enforcement: run.route.enforcement ?? everythingEnforced,
    warnings: run.warnings,
    transcript: { path, lastShard },
    timestamp: run.updatedAt,
  }
}

/** The features that the run really used so far. */
export function capabilitiesUsed(run: RunProjection): CapabilitiesUsed {
  return {
    promptCache: usedCache(run.usage),
    thinking: run.thinking,
    structuredOutputEnforced: run.route.schemaEnforced,
    subagentInvoked: run.agents.byId.size + run.calls.subagents.size > 0 || unlessUntold(run, "subagents", false),
    mcpServersUsed: [...run.calls.servers],
    nativeSubagentsUsed: unlessUntold(run, "subagents", [...run.calls.subagents]),
    toolCompactionApplied: run.calls.hasOffloaded || (run.calls.hasForeign ? null : false),
    contextCompactionApplied: run.context.isCompacted || unlessUntold(run, "compaction", false),
  }
}

/** Null if a backend of the run does not report it. */
function unlessUntold<Value>({ route: { untold } }: RunProjection, told: Told, value: Value): Value | null {
  return untold.has(told) ? null : value
}

/** Of a backend whose tools the runtime runs. */
const everythingEnforced: readonly ToolEnforcement[] = [
  { tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" },
]

/** The call of the open question, with the arguments that would run. */
export function pendingOf({ ask, calls, agents }: RunProjection): PendingToolCall | null {
  if (ask === undefined) return null
  const { callId, question, ticket, always, by, of, at } = ask.request
  const call = calls.get(callId)
  const isOpen = call !== undefined && call.outcome === undefined
  // The call of an agent in the background has its result.
  if (!isOpen && !(of && agents.isInBackground(callId))) return null
  const { args = call?.args ?? null } = ask.request
  const rest = { args, question, ticket, ...(by && { by }), ...(always && { always }) }
  if (of) return { agent: of.agent, id: of.callId, name: of.tool, ...rest, calledAt: at }
  return call ? { id: callId, name: call.name, ...rest, calledAt: call.calledAt } : null
}

/** The facts of a run without a journal: it could not start, waits for a slot, or does not exist. */
export function factsWithout({ workspaceId, runId, nodeId }: RunKey, path: string): RunFacts {
  const nothing = new RunProjection()
  nothing.runId = runId
  nothing.nodeId = nodeId
  nothing.startedAt = Date.now()
  nothing.updatedAt = nothing.startedAt
  return factsOf(nothing, { workspaceId, path, lastShard: -1 })
}

/** The result of a run that could not start. */
export function failedToBegin(key: RunKey, path: string, error: LonghaulError): StoppedResult {
  return { ...factsWithout(key, path), status: "failed", data: null, error: error.toJSON() }
}

export function summaryOf({ workspaceId }: Pick<RunKey, "workspaceId">, run: RunProjection): RunSummary {
  const task = run.input?.messages.findLast((message) => message.role === "user")
  return {
    workspaceId,
    runId: run.runId,
    nodeId: run.nodeId,
    ...(run.continues !== undefined && { continues: run.continues }),
    status: run.status,
    ...(run.status === "paused" && run.pause && { pause: run.pause.reason }),
    task: task ? plainText(task.content, " ") : "",
    ...(run.input?.metadata && { metadata: run.input.metadata }),
    turns: run.turns + run.agents.turns,
    startedAt: run.startedAt,
    updatedAt: run.updatedAt,
  }
}

function callRecord(call: ProjectedCall, runStatus: RunProjection["status"]): ToolCallRecord {
  const { outcome } = call
  const isOver = runStatus !== "paused" && runStatus !== "running"
  // A call that was started before the run ended may have taken effect.
  const status = outcome?.status ?? (isOver && call.intent && !call.question ? "unknown" : "pending")
  const result = outcome ? plainText(outcome.output, "\n") : null
  return {
    id: call.callId,
    name: call.name,
    args: call.args,
    result,
    status,
    durationMs: call.durationMs,
    ...(call.ungated && { ungated: call.ungated }),
    ...(status !== "ok" && { error: result ?? missingResult(runStatus) }),
  }
}

function missingResult(runStatus: RunProjection["status"]): string {
  if (runStatus === "paused") return "The run is paused before this call."
  return runStatus === "running" ? "This call is in progress." : "The run ended before this call had a result."
}

function usedCache({ cacheReadTokens, cacheWriteTokens }: Usage): boolean | null {
  return cacheReadTokens === null || cacheWriteTokens === null ? null : cacheReadTokens + cacheWriteTokens > 0
}
