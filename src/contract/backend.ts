import type { BackendEnv } from "./backend-env.ts"
import type { Capabilities, OwnTool, Probe } from "./capabilities.ts"
import type { Compaction, ContextSetup } from "./compaction.ts"
import type { ContentPart } from "./content.ts"
import type { Failure } from "./error.ts"
import type { Ephemeral, RecordBody, SteerReason } from "./event.ts"
import type { Json, JsonSchema } from "./json.ts"
import type { McpServers } from "./mcp.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Model } from "./provider.ts"
import type { InterruptMode, ResumeBy, SessionRef, SteerMessage } from "./session.ts"
import type { ToolOutcome, ToolSpec } from "./tool.ts"

/** One way of running an agent. Stateless; a value created by a factory. */
export interface Backend {
  /** Such as `native`, `codex` or `acp:gemini`. */
  readonly name: string
  /** Declared without touching the machine. */
  readonly capabilities: Capabilities
  /** Checks whether it can be used here. Opens no session and costs nothing. Never rejects. */
  probe(env: BackendEnv): Promise<Probe>
  /**
   * Opens a new session, or exactly the requested one. Never silently a fresh one: a lost session fails with
   * `session_lost`.
   */
  open(request: OpenRequest, env: BackendEnv): Promise<BackendSession>
}

/** A live conversation. At most one `run` at a time. Every method may be called at any time and settles. */
export interface BackendSession {
  readonly ref: SessionRef
  /**
   * Emits events through the host and resolves to the stop reason. Never rejects: a failure is a `failed` stop. Events
   * and host calls are processed in the order in which they were made.
   */
  run(input: TurnInput, host: TurnHost): Promise<Stop>
  /**
   * Sends a message to the model before its next turn, and emits `steer` with its id when the model receives it. What it
   * never emits is recorded when `run` has ended. False: it is too late.
   */
  steer(message: SteerMessage): boolean
  /** `graceful`: running tools finish, nothing new starts. `immediate`: stop. Both end `run`. */
  interrupt(mode: InterruptMode): void
  /** Shortens the conversation before its next turn. Absent: it cannot, or the vendor does it. */
  compact?(): void
  /**
   * Runs one approved call of its own tools outside the model's loop, in its own sandbox. Absent: it cannot. The result is
   * given back as an answer of `continue`.
   */
  execute?(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>
  /** Idempotent. When it settles, no process, timer, socket or temporary file of this session is left. */
  close(): Promise<void>
}

export interface OpenRequest {
  readonly runId: string
  readonly cwd: string
  /** A model, or its name at the vendor if the backend has `models: "own"`. */
  readonly model?: Model | string
  readonly system?: string
  /** The runtime's tools. A call of one is passed to `callTool`. */
  readonly tools: readonly ToolSpec[]
  /** Own tools of the backend that the run may not use. It starts without them if it can; `authorize` refuses them anyway. */
  readonly withoutTools: readonly string[]
  /** The caller's MCP servers, which the backend itself connects to. Their calls are its own: it asks `authorize`. */
  readonly mcpServers: McpServers
  readonly settings: ModelSettings
  /** The schema of the final answer. */
  readonly outputSchema?: JsonSchema
  /**
   * `turns`: for backends that count them; the runtime does too. `reserved`: tokens or dollars are reserved per turn.
   */
  readonly limits: { readonly turns: number; readonly reserved: boolean }
  /** For backends that send the whole conversation with each request. Absent: it must not be shortened. */
  readonly context?: ContextSetup
  /** The conversation before this session, and its number of turns. */
  readonly from: HistoryOrigin | SessionOrigin
}

/** The conversation as it is in the journal: as messages, or as a text for backends that take only that. */
export interface HistoryOrigin {
  readonly kind: "history"
  readonly messages: readonly Message[]
  readonly turns: number
  /** The same as a text for a model. Empty if there is nothing before the prompt. */
  brief(): string
}

/** A session of this backend that was closed. */
export interface SessionOrigin {
  readonly kind: "session"
  readonly ref: SessionRef
  readonly turns: number
}

/** The content that starts or continues the work. */
export type TurnInput =
  | { readonly kind: "prompt"; readonly content: readonly ContentPart[] }
  /** `answers`: one for each call that was open when the session was closed. `content`: a message for the model, too. */
  | {
      readonly kind: "continue"
      readonly answers: readonly CallAnswer[]
      readonly content?: readonly ContentPart[]
    }

/**
 * How an open call of an earlier session continues. `replay`: the vendor presents it again under the same id. `outcome`:
 * it is settled, the model gets this result. `repeat`: the model has to make it again, and may.
 */
export type CallAnswer =
  | { readonly kind: "replay" | "repeat"; readonly call: ToolCall }
  | { readonly kind: "outcome"; readonly call: ToolCall; readonly outcome: ToolOutcome }

/** The only way back into the runtime. Policy, journal, ledger and clocks are behind it. Nothing here throws. */
export interface TurnHost {
  /** False: there is no listener, so deltas and starts may be omitted. */
  readonly deltas: boolean
  /**
   * Call before a model request, if the backend can delay it, else when its answer begins: records the start of the turn
   * and reserves its maximum usage. A stop: the turn must not begin; `run` resolves to it.
   */
  beginTurn(turn: number, bound: () => TurnBound): Promise<Stop | undefined>
  /** Records the end of a turn. A stop: the host allows no further turn; `run` resolves to it. */
  endTurn(turn: number): Promise<Stop | undefined>
  /**
   * Checks a final answer: returns the problem to send to the model, which then answers again. Undefined: it is
   * accepted.
   */
  review(text: string): Promise<string | undefined>
  /** Records an event. Returns it as it was recorded, with secrets masked: a conversation continues with that. */
  emit<Event extends BackendEvent>(event: Event): Event
  /** Publishes an event that is not recorded. */
  show(event: Ephemeral): void
  /** Reports a sign of life. A session outside this process that gives none for too long is stopped. */
  alive(): void
  /**
   * Runs a call of one of the runtime's tools: applies policy, records, runs, bounds the output. A call that was already
   * settled returns its recorded outcome. `suspended`: a person has to decide first; stop with `suspended` once the other
   * calls of the step are settled.
   */
  callTool(call: ToolCall): Promise<ToolOutcome | Suspended>
  /**
   * Call before the backend runs a tool itself. Once it resolves to `run`, the call is recorded durably as begun: pass its
   * result as a `tool-result` event. A refused or suspended call must not run.
   */
  authorize(call: ToolCall, tool: OwnTool): Promise<Permit>
  /**
   * Call before a summary is requested, between turns or after a refused request, whose reserve is given back: records the
   * start of the compaction and reserves its maximum usage. A stop: the summary must not be requested; `run` resolves to it.
   */
  beginCompaction(turn: number, bound: () => TurnBound): Promise<CompactionFacts | Stop>
  /**
   * Records how the conversation was shortened, durably. Returns it as it was recorded: the conversation continues with that. A
   * turn that had begun begins again. Undefined: it could not be recorded, stop with `interrupted`.
   */
  endCompaction(compaction: Compaction): Promise<Compaction | undefined>
  /** True if a call of this tool may start before its answer is complete: effect `none`, allowed without approval. */
  startsEarly(name: string): boolean
}

/**
 * `run`: with these arguments, which may differ from the model's; a backend that cannot change them has to refuse then.
 * `refuse`: the model gets the reason. `suspend`: a person has to decide first; stop with `suspended`.
 */
export type Permit =
  | { readonly kind: "run"; readonly args: Json }
  | { readonly kind: "refuse"; readonly reason: string }
  | { readonly kind: "suspend"; readonly reason: string }

/** The runtime's facts about a conversation that a summary could lose. */
export interface CompactionFacts {
  /** Lines of text. Empty: there is nothing. */
  readonly text: string
}

/** The maximum usage of one turn. */
export interface TurnBound {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface ToolCall {
  readonly callId: string
  readonly name: string
  /** Exact and complete. */
  readonly args: Json
  /** Why the arguments are unusable, if the model's text was not JSON. */
  readonly invalid?: string
  /** The backend does not know the exact arguments, only what it shows of them. */
  readonly inexact?: true
}

/** Without `seq` and `at`: the runtime adds them. */
export type BackendEvent = Extract<RecordBody, { readonly type: BackendEventType }> | SteerEvent

/** The model receives a message: one of `steer`, or with a reason one of the backend itself. */
export type SteerEvent =
  | ({ readonly type: "steer" } & SteerMessage)
  | { readonly type: "steer"; readonly text: string; readonly reason: SteerReason }

type BackendEventType =
  | "session"
  | "retry"
  | "reasoning-end"
  | "text-end"
  | "tool-call"
  | "tool-result"
  | "usage"
  | "metering"
  | "warning"

/** The call stays open in the journal and is settled on resume: the model need not repeat it. */
export interface Suspended {
  readonly status: "suspended"
}

/** Why a session stops. A stop that the host returned is passed on as it is. */
export type Stop =
  /** `text`: with an output schema, the structured output as JSON if the vendor returned one. */
  | { readonly reason: "done"; readonly text: string }
  /** From the host: a hook ended the run after this turn. The text so far is the result. */
  | { readonly reason: "ended" }
  /** From the host: another process continues the run. */
  | { readonly reason: "released" }
  | { readonly reason: "interrupted" | "output-limit" | "refusal" }
  /** `failure`: the limit of the run that is reached. Absent: the backend reached its turn limit. */
  | { readonly reason: "limit"; readonly failure?: Failure }
  /** `resumeBy`: how the suspended call continues. Absent: the runtime settles it. */
  | { readonly reason: "suspended"; readonly resumeBy?: ResumeBy }
  | { readonly reason: "failed"; readonly failure: Failure }
