import type { ToolCall } from "./backend.ts"
import type { RunResult } from "./result.ts"
import type { ToolOutcome } from "./tool.ts"

/**
 * Your code at fixed places of a run, which waits for it. An exception becomes a warning of the run. Only `gateBeforeTool`
 * and `stop` decide anything.
 */
export interface Hooks {
  /**
   * Before a call runs. `allow: false` pauses the run until a person has decided about the call. A gate that throws denies
   * it. Calls of one step pass the gate in their order; behind a call that waits, no call of its step starts.
   */
  gateBeforeTool?(call: GatedCall): GateVerdict | Promise<GateVerdict>
  /** The run has begun, and no model was called yet. */
  preRun?(run: HookedRun): void | Promise<void>
  /** After every ending, also where the run could not begin. */
  postRun?(result: RunResult): void | Promise<void>
  preTurn?(turn: HookedTurn): void | Promise<void>
  postTurn?(turn: HookedTurn): void | Promise<void>
  preToolCall?(call: HookedCall): void | Promise<void>
  postToolCall?(call: HookedCall, outcome: ToolOutcome): void | Promise<void>
  /** A tool threw something other than a `ToolError`. The model gets a short text without it. Not awaited. */
  toolError?(exception: ToolException): void
  /** After each turn; true: the run ends here, done with what was said so far. */
  stop?(turn: HookedTurn): boolean | Promise<boolean>
}

export interface HookedRun {
  readonly runId: string
  readonly nodeId: string
  /** Aborts when the run must stop at once. */
  readonly signal: AbortSignal
}

/** An exception of a tool, for its author. Known secrets are replaced; it may hold anything else that the tool had. */
export interface ToolException {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  /** What the dispatcher was doing: checking arguments, running the tool, or writing its return value as JSON. */
  readonly step: "validate" | "run" | "serialise"
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** The chain of causes, each as `name: message`. */
  readonly causes: readonly string[]
}

export interface HookedTurn extends HookedRun {
  readonly turn: number
}

export type GateVerdict = { readonly allow: true } | { readonly allow: false; readonly reason: string }

/** `edited`: a person approved the call with these arguments instead of the model's. */
export type GatedCall = HookedCall & { readonly edited: boolean }

export type HookedCall = HookedRun & Pick<ToolCall, "callId" | "name" | "args">
