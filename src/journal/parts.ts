import type { RunRecord } from "../contract/event.ts"
import type { ReasoningPart, ToolCallPart, ToolResultPart } from "../contract/message.ts"
import type { FailedAttempt, RunWarning } from "../contract/result.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import type { ProjectedCall } from "./projected-call.ts"

// A long run has thousands of these parts, so each is a single literal: spreads are slower to run and to compile.

export function reasoningPart({ text, opaque, origin }: RunRecord & { readonly type: "reasoning-end" }): ReasoningPart {
  return opaque === undefined ? { type: "reasoning", text, origin } : { type: "reasoning", text, opaque, origin }
}

export function callPart(record: RunRecord & { readonly type: "tool-call" }): ToolCallPart {
  const { callId, wireId, name, args, opaque, origin } = record
  const part: ToolCallPart =
    wireId === undefined ? { type: "tool-call", callId, name, args } : { type: "tool-call", callId, wireId, name, args }
  if (opaque === undefined && origin === undefined) return part
  return { ...part, ...(opaque !== undefined && { opaque }), ...(origin !== undefined && { origin }) }
}

/** A call that has an outcome. */
export interface FinishedCall {
  readonly callId: string
  readonly wireId: string | undefined
  readonly outcome: ToolOutcome
}

export function hasOutcome(call: ProjectedCall): call is ProjectedCall & FinishedCall {
  return call.outcome !== undefined
}

export function resultPart({ callId, wireId, outcome }: FinishedCall): ToolResultPart {
  const { status, output } = outcome
  return wireId === undefined
    ? { type: "tool-result", callId, status, output }
    : { type: "tool-result", callId, wireId, status, output }
}

export function failedAttempt({ from, failure }: RunRecord & { readonly type: "failover" }): FailedAttempt {
  const { code, retryable, requestId = null } = failure
  return { backend: from.backend, model: from.model ?? null, code, retryable, requestId }
}

export function newCall(record: RunRecord & { readonly type: "tool-call" }): ProjectedCall {
  const { at, callId, wireId, name, args, executor } = record
  return {
    callId,
    wireId,
    name,
    args,
    executor,
    calledAt: at,
    finalArgs: undefined,
    intent: undefined,
    intentDigest: undefined,
    approvedDigest: undefined,
    question: undefined,
    questions: 0,
    outcome: undefined,
    durationMs: 0,
    stored: undefined,
    ungated: undefined,
  }
}

/** Adds a warning to those of a run, of which it keeps the newest. */
export function keepWarning(
  warnings: RunWarning[],
  { code, message, paths }: RunRecord & { readonly type: "warning" },
): void {
  warnings.push({ code, message, ...(paths && { paths }) })
  if (warnings.length > MAX_WARNINGS) warnings.shift()
}

const MAX_WARNINGS = 1000
