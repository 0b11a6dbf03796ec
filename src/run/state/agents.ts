import type { ToolCall } from "../../contract/backend.ts"
import type { AgentRequest, ToolOutcome } from "../../contract/tool.ts"
import type { KeepWhole } from "../../tools/kernel/dispatch.ts"
import type { RunStop, Suspension } from "./stops.ts"

/** The agents of a run, for its calls. */
export interface Agents {
  spawn(call: ToolCall, request: AgentRequest, options: SpawnOptions): Promise<SpawnEnd>
  /** Rejects with a `ToolError` if there is no such agent, or it has ended. */
  send(to: string, text: string): Promise<void>
  readonly background: AgentsInBackground
}

/** The agents of a run whose calls do not wait for them. */
export interface AgentsInBackground {
  /** True unless the model has received the end of each. */
  readonly isPending: boolean
  /** Resumes those of earlier processes. */
  resume(): Promise<void>
  /** Resolves when the model has something to read, when no agent is working, or when the run is being stopped. */
  wait(): Promise<void>
  /** Waits after the model's last answer, and records what it has to read next. Returns a stop if there is nothing. */
  waitWithoutSession(): Promise<RunStop | undefined>
  /** Stops those that still work, and waits for them. Returns how the run stops with those that have not ended. */
  finish(stop: RunStop): Promise<RunStop>
}

export interface SpawnOptions {
  /** The call was begun before: its agent may exist. */
  readonly resumed: boolean
  /** Saves an answer that is too long. */
  readonly keep?: KeepWhole | undefined
}

/** How the work of an agent ended here. Only after `ended` the call that started it has a result. */
export type SpawnEnd =
  | { readonly kind: "ended"; readonly outcome: ToolOutcome }
  | Suspension
  /** Nothing more can be recorded. */
  | { readonly kind: "lost" }
