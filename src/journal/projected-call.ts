import type { StoredResult } from "../contract/compaction.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import type { StopReason } from "../contract/provider.ts"
import type { Effect, ToolOutcome } from "../contract/tool.ts"

/** A tool call according to the journal. All objects have the same shape from the start, because a long run has many. */
export interface ProjectedCall {
  readonly callId: string
  readonly wireId: string | undefined
  readonly name: string
  readonly args: Json
  /** Undefined: the runtime runs it. */
  readonly executor: "backend" | undefined
  /** The arguments to run, if the policy or a person changed the model's. */
  finalArgs: Json | undefined
  /** Unix milliseconds. */
  readonly calledAt: number
  /** The effect in the recorded intent, if there is one. */
  intent: Effect | undefined
  /** Identifies the arguments of the intent. */
  intentDigest: string | undefined
  /** Identifies the arguments that a person approved. */
  approvedDigest: string | undefined
  /** Its own question, until it runs again: so far it has had no effect. */
  question: ProjectedQuestion | undefined
  /** How many questions it has asked. */
  questions: number
  outcome: ToolOutcome | undefined
  durationMs: number
  /** Where the whole text is, if the outcome has only a part of it. */
  stored: StoredResult | undefined
  /** The backend ran it without a permission. */
  ungated: "unasked" | "refused" | undefined
}

/** The question that a call asks itself, and how a person answered it. */
export interface ProjectedQuestion {
  readonly record: RunRecord & { readonly type: "tool-question" }
  readonly answer: (RunRecord & { readonly type: "approval-result" }) | undefined
}

/** The last question about a call, and the decision. */
export interface ProjectedAsk {
  readonly request: RunRecord & { readonly type: "approval-request" }
  decision?: RunRecord & { readonly type: "approval-result" }
}

export interface Activity {
  readonly now: "idle" | "streaming" | "tool_dispatch" | "compacting"
  readonly lastTool?: string
}

/** The model's last answer. */
export interface LastStep {
  readonly stopReason: StopReason
  readonly calls: readonly ProjectedCall[]
}

/** The records of turns: their answers, calls and messages. */
export type StepRecord = Exclude<RunRecord, { readonly type: LifeRecordType }>

type LifeRecordType =
  | "run-start"
  | "run-resume"
  | "choice"
  | "failover"
  | "session"
  | "warning"
  | "interrupt"
  | "cancel"
  | "checkpoint"
  | "retry"
  | "extensions"
  | "compaction-request"
  | "compaction-start"
  | "compaction"
  | "run-pause"
  | "run-remove"
  | "run-end"
