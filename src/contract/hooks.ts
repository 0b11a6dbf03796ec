import type { ToolCall } from "./backend.ts"
import type { Compaction } from "./compaction.ts"
import type { RunResult } from "./result.ts"
import type { ToolOutcome } from "./tool.ts"

/**
 * Your code at fixed points of a run, which waits for it. An exception becomes a warning of the run. Only
 * `gateBeforeTool` and `stop` affect the run.
 */
export interface Hooks {
  /**
   * Called before a call runs, with the tool's name first. `allow: false` pauses the run until a person has decided. A gate that throws denies the
   * call. Calls of one step pass the gate in order; no call after a waiting one starts.
   */
  gateBeforeTool?(toolName: string, call: GatedCall): GateVerdict | Promise<GateVerdict>
  /** The run has started, and no model has been called yet. */
  preRun?(run: HookedRun): void | Promise<void>
  /** Called however the run ends, even if it could not start. */
  postRun?(result: RunResult): void | Promise<void>
  preTurn?(turn: HookedTurn): void | Promise<void>
  postTurn?(turn: HookedTurn): void | Promise<void>
  preToolCall?(call: HookedCall): void | Promise<void>
  postToolCall?(call: HookedCall, outcome: ToolOutcome): void | Promise<void>
  /** A tool threw something other than a `ToolError`. The model gets a short text without it. Not awaited. */
  toolError?(exception: ToolException): void
  /** The conversation was shortened, and that is in the journal. */
  compaction?(compaction: HookedCompaction): void | Promise<void>
  /** Called after each turn; true ends the run as done. */
  stop?(turn: HookedTurn): boolean | Promise<boolean>
}

export interface HookedRun {
  readonly runId: string
  readonly nodeId: string
  /** The agent of the run, if it is one's turn or call. */
  readonly agent?: string
  /** Aborts when the run must stop immediately. */
  readonly signal: AbortSignal
}

/** An exception of a tool, for its author. Known secrets are redacted; it may contain any other data of the tool. */
export interface ToolException {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  /** The dispatcher's step: checking arguments, running the tool, or serialising its return value. */
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

export interface HookedCompaction extends HookedRun {
  readonly compaction: Compaction
}

export type GateVerdict = { readonly allow: true } | { readonly allow: false; readonly reason: string }

/** `edited`: a person approved the call with these arguments instead of the model's. */
export type GatedCall = HookedCall & { readonly edited: boolean }

export type HookedCall = HookedRun & Pick<ToolCall, "callId" | "name" | "args">
