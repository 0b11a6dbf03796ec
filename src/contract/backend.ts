import type { ContentPart } from "./content.ts"
import type { Failure } from "./error.ts"
import type { Ephemeral, RecordBody } from "./event.ts"
import type { Json, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Model, Transport } from "./provider.ts"
import type { InterruptMode, SessionRef } from "./session.ts"
import type { ToolOutcome, ToolSpec } from "./tool.ts"

/** One way of running an agent. Stateless; a value created by a factory. */
export interface Backend {
  readonly name: string
  readonly capabilities: Capabilities
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
  /** Sends a person's message to the model before its next turn. False: it is too late. */
  steer(text: string): boolean
  /** `graceful`: running tools finish, nothing new starts. `immediate`: stop. Both end `run`. */
  interrupt(mode: InterruptMode): void
  /** Idempotent. When it settles, no process, timer, socket or temporary file of this session is left. */
  close(): Promise<void>
}

export interface Capabilities {
  /** How a conversation from the journal is passed to the backend. */
  readonly history: "messages" | "brief"
  /** Works without processes, for example in a worker. */
  readonly edge: boolean
}

export interface BackendEnv {
  readonly transport: Transport
}

export interface OpenRequest {
  readonly runId: string
  readonly cwd: string
  readonly model?: Model | string
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  readonly settings: ModelSettings
  /** The schema of the final answer. */
  readonly outputSchema?: JsonSchema
  /**
   * `turns`: for backends that count them; the runtime does too. `reserved`: tokens or dollars are reserved per turn.
   */
  readonly limits: { readonly turns: number; readonly reserved: boolean }
  /** The conversation before this session, and its number of turns. */
  readonly from: { readonly kind: "history"; readonly messages: readonly Message[]; readonly turns: number }
}

/** The message that starts the work. */
export type TurnInput =
  | { readonly kind: "prompt"; readonly content: readonly ContentPart[] }
  | { readonly kind: "continue" }

/** The only way back into the runtime. Policy, journal, ledger and clocks are behind it. Nothing here throws. */
export interface TurnHost {
  /** False: there is no listener, so deltas and starts may be omitted. */
  readonly deltas: boolean
  /**
   * Call before a model request, if the backend can delay it: records the start of the turn and reserves its maximum
   * usage. False: a limit of the run is reached, stop with `limit`.
   */
  beginTurn(turn: number, bound: () => TurnBound): Promise<boolean>
  /** Records the end of a turn. False: the host wants no further turn, stop with `done`. */
  endTurn(turn: number): Promise<boolean>
  /**
   * Checks a final answer: returns the problem to send to the model, which then answers again. Undefined: it is
   * accepted.
   */
  review(text: string): Promise<string | undefined>
  /** Records an event. Returns it as it was recorded, with secrets masked: a conversation goes on with that. */
  emit<Event extends BackendEvent>(event: Event): Event
  /** Publishes an event that is not recorded. */
  show(event: Ephemeral): void
  /**
   * Runs a tool call of the model: applies policy, records, runs, bounds the output. `suspended`: a person has to
   * decide first; stop with `suspended` once the other calls of the step are settled.
   */
  callTool(call: ToolCall): Promise<ToolOutcome | Suspended>
  /** True if a call of this tool may start before its answer is complete: effect `none`, allowed without approval. */
  startsEarly(name: string): boolean
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
}

/** Without `seq` and `at`: the runtime adds them. */
export type BackendEvent = Extract<RecordBody, { readonly type: BackendEventType }>

type BackendEventType = "session" | "steer" | "retry" | "reasoning-end" | "text-end" | "tool-call" | "usage" | "warning"

/** The call stays open in the journal and is settled on resume: the model need not repeat it. */
export interface Suspended {
  readonly status: "suspended"
}

export type Stop =
  | { readonly reason: "done"; readonly text: string }
  | { readonly reason: "interrupted" | "limit" | "output-limit" | "refusal" | "suspended" }
  | { readonly reason: "failed"; readonly failure: Failure }
