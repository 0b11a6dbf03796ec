import type { ContentPart } from "./content.ts"
import type { Failure } from "./error.ts"
import type { Ephemeral, RecordBody } from "./event.ts"
import type { Json, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Model, Transport } from "./provider.ts"
import type { InterruptMode, SessionRef } from "./session.ts"
import type { ToolOutcome, ToolSpec } from "./tool.ts"

/** One way of getting an agent's work done. Stateless; a value made by a factory. */
export interface Backend {
  readonly name: string
  readonly capabilities: Capabilities
  /** New session, or exactly the one asked for. Never silently a fresh one: a lost session fails `session_lost`. */
  open(request: OpenRequest, env: BackendEnv): Promise<BackendSession>
}

/** A live conversation. At most one `run` at a time. Every method may be called at any moment and settles. */
export interface BackendSession {
  readonly ref: SessionRef
  /**
   * Emits events through the host and resolves to how it ended. Never rejects: what went wrong is a `failed` stop.
   * Events and host calls are taken in the order in which they were made.
   */
  run(input: TurnInput, host: TurnHost): Promise<Stop>
  /** Something a person says while it works; the model hears it before its next turn. False: it can no longer. */
  steer(text: string): boolean
  /** `graceful`: running tools finish, nothing new starts. `immediate`: stop. Both lead to the end of `run`. */
  interrupt(mode: InterruptMode): void
  /** Idempotent. When it settles no process, timer, socket or temporary file of this session is left. */
  close(): Promise<void>
}

export interface Capabilities {
  /** How a conversation that lives in the journal is handed over. */
  readonly history: "messages" | "brief"
  /** Runs without processes, in a worker. */
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
  /** The form that the final answer must have. */
  readonly outputSchema?: JsonSchema
  /** `turns`: for backends that count them; the runtime does too. `reserved`: tokens or dollars are set aside per turn. */
  readonly limits: { readonly turns: number; readonly reserved: boolean }
  /** Where the conversation comes from: what was said before this session, and how many turns that took. */
  readonly from: { readonly kind: "history"; readonly messages: readonly Message[]; readonly turns: number }
}

/** What starts the work. */
export type TurnInput =
  | { readonly kind: "prompt"; readonly content: readonly ContentPart[] }
  | { readonly kind: "continue" }

/** The only way back into the runtime. Policy, journal, ledger and clocks are behind it. Nothing here throws. */
export interface TurnHost {
  /** False: nobody listens, so deltas and starts may be left out. */
  readonly deltas: boolean
  /**
   * Before a model request, where the backend can hold one back: opens the turn on record and reserves what it may take.
   * False: a limit of the run is reached, stop with `limit`.
   */
  beginTurn(turn: number, bound: () => TurnBound): Promise<boolean>
  /** Closes a turn on record. False: the host wants no other, stop with `done`. */
  endTurn(turn: number): Promise<boolean>
  /** What is wrong with a final answer, to be told to the model, which then answers again. Undefined: it stands. */
  review(text: string): Promise<string | undefined>
  /** Puts an event on record. */
  emit(event: BackendEvent): void
  /** Tells listeners of something that is not recorded. */
  show(event: Ephemeral): void
  /**
   * The model called one of our tools: decides, journals, runs, bounds the output. `suspended`: a person has to decide
   * first; stop with `suspended` once the other calls of the step are settled.
   */
  callTool(call: ToolCall): Promise<ToolOutcome | Suspended>
  /** True where a call of this tool may start before its answer is complete: effect `none`, allowed at once. */
  startsEarly(name: string): boolean
}

/** The most that one turn can take. */
export interface TurnBound {
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface ToolCall {
  readonly callId: string
  readonly name: string
  /** Exact and whole. */
  readonly args: Json
  /** Why the arguments cannot be used, where the model's text was not JSON. */
  readonly invalid?: string
}

/** No `seq` and no `at`: the runtime adds them. */
export type BackendEvent = Extract<RecordBody, { readonly type: BackendEventType }>

type BackendEventType = "session" | "steer" | "retry" | "reasoning-end" | "text-end" | "tool-call" | "usage" | "warning"

/** The call stays open on record and is settled when the run goes on: the model need not repeat it. */
export interface Suspended {
  readonly status: "suspended"
}

export type Stop =
  | { readonly reason: "done"; readonly text: string }
  | { readonly reason: "interrupted" | "limit" | "output-limit" | "refusal" | "suspended" }
  | { readonly reason: "failed"; readonly failure: Failure }
