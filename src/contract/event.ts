import type { AgentQuestion, RecordedAgents } from "./agents.ts"
import type { Feature, Told, ToolEnforcement } from "./capabilities.ts"
import type { Compaction, RecordedCompaction, StoredResult } from "./compaction.ts"
import type { Failure } from "./error.ts"
import type { RecordedExtension, ToolFilter } from "./extension.ts"
import type { Json, JsonObject, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { AlwaysScope, DecisionReason, RecordedPolicy, RuleVerdict } from "./policy.ts"
import type { RecordedModel, StopReason } from "./provider.ts"
import type { AskReason, CapabilitiesUsed, Limits, PauseReason, RunStatus, StructuredOutput, Usage } from "./result.ts"
import type { InterruptMode, ResumeBy, SessionRef } from "./session.ts"
import type { AgentRequest, Effect, ToolOutcome } from "./tool.ts"
import type { RecordedWebhook } from "./webhook.ts"

/**
 * All events of a run: the journal's records, and ephemeral events for listeners. `agent`: the path of the agent below the run
 * that it belongs to; (`agent`, `seq`) identifies a record. No order is promised between agents.
 */
export type RunEvent = RunRecord | (Ephemeral & { readonly agent?: string })

/** A line of the journal. `seq` counts 0, 1, 2 … within one run; published only once it is durable. */
export type RunRecord = { readonly seq: number; readonly at: number; readonly agent?: string } & RecordBody

export type RecordBody =
  | {
      readonly type: "run-start"
      readonly runId: string
      readonly nodeId: string
      readonly input: RecordedInput
      readonly tools: readonly { readonly name: string; readonly digest: string }[]
      readonly limits: Limits
      /** The beginning of its idempotency keys: a digest of store and workspace. Absent in runs of older versions. */
      readonly tenant?: string
      /** The node of the same run whose conversation it continues: its messages precede the input's. */
      readonly continues?: string
      /** Everything up to its record `at` was copied from there. */
      readonly forkOf?: ForkOrigin
      /** Receiver of the next pause or end. */
      readonly webhook?: RecordedWebhook
    }
  /** `limits`: changed from here on. */
  | {
      readonly type: "run-resume"
      readonly cause: ResumeCause
      readonly limits?: Limits
      /** Applies in addition to the earlier policies of the run. */
      readonly policy?: RecordedPolicy
      readonly webhook?: RecordedWebhook
    }
  | ({
      readonly type: "choice"
      readonly reasons: readonly string[]
      /** Its index in the chain. */
      readonly entry?: number
      /** The model's provider enforces the requested schema. */
      readonly schemaEnforced?: boolean
    } & Target)
  /** The run continues on the next entry of its chain, or skips one; without `to`, the chain is exhausted. */
  | { readonly type: "failover"; readonly from: Target; readonly to?: Target; readonly failure: Failure }
  /** `enforcement`: how far the policy reaches in this session. Absent: it decides every call. */
  | {
      readonly type: "session"
      readonly ref: SessionRef
      readonly model?: string
      readonly enforcement?: readonly ToolEnforcement[]
      /** The facts about its own work that the backend does not report. Absent: none. */
      readonly untold?: readonly Told[]
    }
  /** An extension that the run uses from here on: replaces an earlier entry of the same name. */
  | { readonly type: "extensions"; readonly extensions: readonly RecordedExtension[] }
  /** `paths`: the affected files. `inbox`: the message that could not be read. */
  | {
      readonly type: "warning"
      readonly code: string
      readonly message: string
      readonly paths?: readonly string[]
      readonly inbox?: number
    }
  /** `reserve`: the reservation, if tokens or dollars are limited. */
  | { readonly type: "turn-start"; readonly turn: number; readonly reserve?: Reserve }
  | {
      readonly type: "retry"
      readonly turn: number
      readonly attempt: number
      readonly delayMs: number
      readonly failure: Failure
    }
  | {
      readonly type: "reasoning-end"
      readonly turn: number
      readonly id: string
      readonly text: string
      readonly opaque?: Json
      readonly origin: string
    }
  /** `partial`: kept when the run was interrupted; in the result, never in messages. */
  | {
      readonly type: "text-end"
      readonly turn: number
      readonly id: string
      readonly text: string
      readonly partial?: boolean
    }
  | {
      readonly type: "tool-call"
      readonly turn: number
      readonly callId: string
      readonly wireId?: string
      readonly name: string
      readonly args: Json
      readonly opaque?: Json
      readonly origin?: string
      /** Absent: the runtime. */
      readonly executor?: "backend"
    }
  | {
      readonly type: "usage"
      readonly turn: number
      readonly usage: Usage
      readonly model: string
      readonly requestId?: string
      readonly stopReason: StopReason
      /** From the request to the end of its answer. */
      readonly durationMs?: number
    }
  /** Usage that a backend reports apart from the steps of its model, or that another part of the run caused (`source`). */
  | {
      readonly type: "metering"
      readonly usage: Usage
      readonly model?: string
      readonly source?: string
      /** The request that it settles. */
      readonly sample?: string
      /** Of a request whose answer failed. `unreported`: the provider had begun to answer and not reported any usage. */
      readonly failed?: "reported" | "unreported"
      /** The amount that the budget counts for an unreported usage. */
      readonly reserve?: Reserve
    }
  /** An extension is about to ask the model. Without a `metering` that names it, its reserve counts as spent. */
  | { readonly type: "sample-start"; readonly sample: string; readonly source: string; readonly reserve: Reserve }
  /** A person must decide about a call. `question`: shown to them. `ticket`: identifies this question only. */
  | {
      readonly type: "approval-request"
      readonly callId: string
      /** Digest of the tool, its arguments and the working directory. */
      readonly digest: string
      readonly ticket: string
      readonly reason: AskReason
      readonly question: string
      /** The rules that asked: an approval answers no other. Absent: no rule applies to such calls, or an older version wrote it. */
      readonly asked?: readonly string[]
      /** The arguments to run, if a person or the policy changed the model's. */
      readonly args?: Json
      /** The calls that the decision `always` would allow. */
      readonly always?: AlwaysScope
      /** The run waits for `onAsk` and does not pause. */
      readonly via?: "wait"
      /** The call itself asks, while it runs: `approve` is a yes without a text. */
      readonly by?: "tool"
      /** The question of an agent that this call started: digest, ticket and arguments are those of the agent's call. */
      readonly of?: AgentQuestion
    }
  /** The person's decision. `args`: used instead of the model's. `always`: what is allowed from now on. */
  | {
      readonly type: "approval-result"
      readonly callId: string
      readonly digest: string
      readonly decision: "approve" | "deny" | "answer"
      readonly text?: string
      readonly args?: Json
      readonly always?: AlwaysScope
      /** The agent whose call it is about. Its own journal applies the decision. */
      readonly of?: AgentQuestion
    }
  /** The policy's decision about a call or its output. `args`: the final arguments, if the policy changed them. */
  | {
      readonly type: "policy-decision"
      readonly callId: string
      readonly verdict: RuleVerdict | "block"
      readonly reasons: readonly DecisionReason[]
      readonly args?: Json
    }
  | {
      readonly type: "tool-intent"
      readonly callId: string
      readonly digest: string
      readonly effect: Effect
      readonly key: string
    }
  /** The running call asks a person. It has had no effect so far, and continues with the answer, after another intent. */
  | {
      readonly type: "tool-question"
      readonly callId: string
      readonly question: string
      /** For the tool. Only in the journal: events come without it. */
      readonly state?: Json
    }
  | {
      readonly type: "tool-result"
      readonly callId: string
      readonly outcome: ToolOutcome
      readonly durationMs: number
      /** Where the whole text is, if the outcome has only a part of it. */
      readonly stored?: StoredResult
      /** The backend ran the call without asking, or although it was refused: this result then replaces the refusal. */
      readonly ungated?: "unasked" | "refused"
      /** The vendor itself did not accept the call, so that it never ran. */
      readonly rejected?: true
    }
  /** The call starts an agent, or an open one continues. `digest`: of its definition. */
  | {
      readonly type: "agent-start"
      readonly agentId: string
      readonly callId: string
      /** The name of its type. */
      readonly name: string
      readonly description: string
      readonly digest: string
      /** Present if its call does not wait for it: the request, with which any process can start it. */
      readonly background?: AgentRequest
    }
  /** The agent has stopped. All figures are totals of it and the agents below it since its first start. */
  | {
      readonly type: "agent-end"
      readonly agentId: string
      readonly callId: string
      readonly status: RunStatus
      readonly usage: Usage
      readonly turns: number
      /** As in the ledger: with lost reserves. */
      readonly spent: { readonly tokens: number; readonly usd: number }
      /** The agents that it started. */
      readonly agents: number
    }
  /** A message to the model between two turns: from a person, or with a `reason` from the runtime. */
  | {
      readonly type: "steer"
      readonly text: string
      readonly reason?: SteerReason
      readonly inbox?: number
      /** With the reason `agent`: whose answer it is. No agent has two. */
      readonly agentId?: string
    }
  | { readonly type: "interrupt"; readonly mode: InterruptMode; readonly inbox?: number }
  | { readonly type: "cancel"; readonly inbox?: number }
  | { readonly type: "turn-end"; readonly turn: number }
  /** The host asked for a compaction before the next turn. */
  | { readonly type: "compaction-request"; readonly inbox?: number }
  /** A summary is about to be requested. Without a `compaction` after it, the reserve counts as spent. */
  | { readonly type: "compaction-start"; readonly turn: number; readonly reserve?: Reserve }
  | ({ readonly type: "compaction" } & Compaction)
  /** Digests of the files that the run's calls named, when it stopped. Null: absent. For its next backend. */
  | { readonly type: "checkpoint"; readonly files: Readonly<Record<string, string | null>> }
  /** `callId`: the pending call. `resumeBy`: how it continues; absent: the runtime settles it. `text`: why it paused. */
  | {
      readonly type: "run-pause"
      readonly reason: PauseReason
      readonly callId?: string
      readonly resumeBy?: ResumeBy
      readonly text?: string
      /** It was released at the end of a slice: the scheduler that assigned it continues it. */
      readonly slice?: true
    }
  | {
      readonly type: "run-end"
      readonly status: "done" | "failed" | "cancelled"
      readonly error?: Failure
      /** The answer as data, if a schema was requested. */
      readonly output?: StructuredOutput
    }
  /** The run's data is deleted; its id stays reserved. */
  | { readonly type: "run-remove"; readonly runId: string; readonly nodeId: string }

/**
 * `decision`: a person answered. `recovery`: its owner is dead or released it. `takeover`: from an owner that may be
 * alive.
 */
export type ResumeCause = "decision" | "recovery" | "takeover"

/** A backend with its model. */
export interface Target extends RecordedModel {
  readonly backend: string
  /** The backend is a value of the host's code: what its name means elsewhere is not the same one. */
  readonly given?: true
}

export interface ForkOrigin {
  readonly runId: string
  readonly nodeId: string
  readonly at: number
}

/**
 * `repair`: the answer did not match the schema. `output-limit`: it was cut and must continue. `resume`: the run was
 * resumed. `agent`: an agent in the background has ended.
 */
export type SteerReason = "repair" | "output-limit" | "resume" | "agent"

export interface Reserve {
  readonly tokens: number
  /** Null: the price is unknown. */
  readonly usd: number | null
}

/** Never stored, no `seq`; published only after every earlier record is durable. A late reader gets the ends. */
export type Ephemeral =
  | { readonly type: "text-start" | "reasoning-start"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "tool-progress"; readonly callId: string; readonly message: string }
  /** Shortly before the end of the run: as in its result. */
  | { readonly type: "capabilities"; readonly used: CapabilitiesUsed }

/** A run's input, as stored in the journal. */
export interface RecordedInput extends ModelSettings, Target {
  readonly messages: readonly Message[]
  readonly system?: string
  /** The entries of the chain, if there is one. */
  readonly chain?: readonly (Target & { readonly requires?: readonly Feature[] })[]
  /** The path of the workspace where the run began. It may be elsewhere when the run is resumed. */
  readonly workspace?: string
  /** Relative to the workspace where it is inside it. */
  readonly cwd: string
  readonly outputSchema?: JsonSchema
  readonly outputMode?: "strict" | "forward"
  /** The schema has checks of its own, which no journal can store, or a name in the configuration. */
  readonly outputCheck?: { readonly name?: string }
  readonly unknownOutcome?: "tell" | "pause"
  /** The run's own policy, without its callback. */
  readonly policy?: RecordedPolicy
  /** The run's own settings, where they differ from the runtime's. */
  readonly compaction?: RecordedCompaction | false
  /** Present if the run may start agents. */
  readonly agents?: RecordedAgents
  /** The tools of extensions and of the backend itself that it may use. Absent: all. */
  readonly extensionTools?: ToolFilter
  /** The name of its type, if this is an agent of a run. */
  readonly agentType?: string
  readonly metadata?: JsonObject
}
