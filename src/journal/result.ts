import type { LonghaulError } from "../contract/error.ts"
import type { ToolCallRecord, Usage } from "../contract/result.ts"
import type { RunState, RunSummary } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { plainText } from "../lib/content.ts"
import { type ProjectedCall, RunProjection } from "./projection.ts"

/** The one kind of result, for a run at any stage. */
export function resultOf(run: RunProjection, transcript: { path: string; lastShard: number }): RunState {
  return {
    runId: run.runId,
    nodeId: run.nodeId,
    status: run.status,
    data: run.status === "done" ? (run.output ? run.output.data : run.text) : null,
    text: run.text,
    ...(run.output && { structuredSource: run.output.source }),
    usage: run.usage,
    turns: run.turns,
    durationMs: run.updatedAt - run.startedAt,
    backend: run.backend,
    model: run.model ?? null,
    ...(run.input?.effort !== undefined && { effort: run.input.effort }),
    sessionId: run.sessionId ?? null,
    toolCalls: Array.from(run.calls.values(), callRecord),
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

function callRecord(call: ProjectedCall): ToolCallRecord {
  const { outcome } = call
  // A call without an outcome is one the run ended on: nobody can say what it did.
  const status = outcome?.status ?? "unknown"
  const result = outcome ? textOf(outcome) : null
  return {
    id: call.callId,
    name: call.name,
    args: call.args,
    result,
    status,
    durationMs: call.durationMs,
    ...(status !== "ok" && { error: result ?? "The run ended before this call was settled." }),
  }
}

function usedCache({ cacheReadTokens, cacheWriteTokens }: Usage): boolean | null {
  return cacheReadTokens === null || cacheWriteTokens === null ? null : cacheReadTokens + cacheWriteTokens > 0
}

function textOf(outcome: ToolOutcome): string {
  return outcome.output.map((part) => part.text).join("")
}
