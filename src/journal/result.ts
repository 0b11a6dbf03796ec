import type { LonghaulError } from "../contract/error.ts"
import type { Json } from "../contract/json.ts"
import type { Pause, PendingToolCall, ToolCallRecord, Usage } from "../contract/result.ts"
import type { RunState, RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { plainText } from "../lib/content.ts"
import { type ProjectedCall, RunProjection } from "./projection.ts"

/** The one kind of result, for a run at any stage. */
export function resultOf(run: RunProjection, transcript: { path: string; lastShard: number }): RunState {
  return {
    runId: run.runId,
    nodeId: run.nodeId,
    status: run.status,
    data: dataOf(run),
    text: run.text,
    ...(run.output && { structuredSource: run.output.source }),
    usage: run.usage,
    turns: run.turns,
    durationMs: run.updatedAt - run.startedAt,
    backend: run.backend,
    model: run.model ?? null,
    ...(run.input?.effort !== undefined && { effort: run.input.effort }),
    sessionId: run.sessionId ?? null,
    toolCalls: Array.from(run.calls.values(), (call) => callRecord(call, run.status)),
    ...(run.status === "paused" && run.pause && { pause: pauseOf(run, run.pause) }),
    ...(run.error && { error: run.error }),
    capabilitiesUsed: {
      promptCache: usedCache(run.usage),
      thinking: run.thinking,
      structuredOutputEnforced: run.schemaEnforced,
      subagentInvoked: false,
      mcpServersUsed: [],
      nativeSubagentsUsed: [],
      toolCompactionApplied: false,
      contextCompactionApplied: false,
    },
    warnings: run.warnings,
    transcript,
    timestamp: run.updatedAt,
  }
}

function dataOf(run: RunProjection): Json {
  if (run.status === "done") return run.output ? run.output.data : run.text
  const pending = run.status === "paused" ? pendingOf(run) : null
  return pending && { question: pending.question, tool: pending.name, args: pending.args }
}

function pauseOf(run: RunProjection, { reason, at }: NonNullable<RunProjection["pause"]>): Pause {
  return { reason, pendingToolCall: pendingOf(run), askedAt: at }
}

/** The call that a question is about, with the arguments that would run. */
export function pendingOf({ ask, calls }: RunProjection): PendingToolCall | null {
  if (ask === undefined) return null
  const call = calls.get(ask.request.callId)
  if (call === undefined || call.outcome !== undefined) return null
  const { callId: id, name, calledAt } = call
  const { question, ticket, args = call.args } = ask.request
  return { id, name, args, question, ticket, calledAt }
}

/** The same shape for a run that has no journal: it could not begin, or is not there. */
export function resultWithout<Status extends "failed" | "not_found" | "queued">(
  status: Status,
  { runId, nodeId }: RunKey,
  error: LonghaulError | undefined,
  path: string,
): RunState & { readonly status: Status } {
  const nothing = new RunProjection()
  nothing.runId = runId
  nothing.nodeId = nodeId
  nothing.startedAt = Date.now()
  nothing.updatedAt = nothing.startedAt
  return { ...resultOf(nothing, { path, lastShard: -1 }), status, ...(error && { error: error.toJSON() }) }
}

export function summaryOf(run: RunProjection): RunSummary {
  const task = run.input?.messages.findLast((message) => message.role === "user")
  return {
    runId: run.runId,
    nodeId: run.nodeId,
    status: run.status,
    task: task ? plainText(task.content, " ") : "",
    turns: run.turns,
    startedAt: run.startedAt,
    updatedAt: run.updatedAt,
  }
}

function callRecord(call: ProjectedCall, runStatus: RunProjection["status"]): ToolCallRecord {
  const { outcome } = call
  const isOver = runStatus !== "paused" && runStatus !== "running"
  // A call that was begun when the run ended may have had its effect.
  const status = outcome?.status ?? (isOver && call.intent ? "unknown" : "pending")
  const result = outcome ? plainText(outcome.output, "\n") : null
  return {
    id: call.callId,
    name: call.name,
    args: call.args,
    result,
    status,
    durationMs: call.durationMs,
    ...(status !== "ok" && { error: result ?? unsettled(runStatus) }),
  }
}

function unsettled(runStatus: RunProjection["status"]): string {
  if (runStatus === "paused") return "The run is paused before this call."
  return runStatus === "running" ? "This call is under way." : "The run ended before this call was settled."
}

function usedCache({ cacheReadTokens, cacheWriteTokens }: Usage): boolean | null {
  return cacheReadTokens === null || cacheWriteTokens === null ? null : cacheReadTokens + cacheWriteTokens > 0
}
