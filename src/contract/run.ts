import type { Backend } from "./backend.ts"
import type { Environment } from "./env.ts"
import type { RunEvent, RunRecord } from "./event.ts"
import type { JsonObject } from "./json.ts"
import type { Message } from "./message.ts"
import type { Model, Transport } from "./provider.ts"
import type { Limits, RunResult, RunStatus } from "./result.ts"
import type { InterruptMode } from "./session.ts"
import type { Store } from "./store.ts"
import type { Tool } from "./tool.ts"

/** What the portable root takes: values only. Every key is optional. */
export interface RuntimeConfig {
  /** The folder the tools work in. */
  readonly workspace?: string
  /** Default: in memory, gone with the process. */
  readonly store?: Store
  /** The tenant within the store. */
  readonly workspaceId?: string
  /** A value; names such as `anthropic:claude-sonnet-4-6` resolve in `longhaul/node`. */
  readonly model?: Model | string
  readonly backend?: Backend
  readonly tools?: readonly Tool[]
  readonly disabledTools?: readonly string[]
  readonly limits?: Partial<Limits>
  readonly env?: Environment
  readonly transport?: Transport
  /** Becomes the transport where none is given: rewrites headers, goes through proxies. */
  readonly fetch?: typeof fetch
  readonly brand?: Partial<Brand>
  readonly logger?: Logger
  /** Who this process is, for those who must know whether an owner is gone. */
  readonly owner?: JsonObject
}

/** Every name under which we show ourselves to others. */
export interface Brand {
  readonly schemaPrefix: string
  readonly mcpClientName: string
  readonly mcpClientVersion: string
  readonly tempdirPrefix: string
  readonly providerModelPrefix: string
  readonly doctorCommand: string
  readonly serviceName: string
  readonly clientInfoName: string
  readonly clientInfoTitle: string
}

export interface Logger {
  warn(message: string, data?: JsonObject): void
}

export type RunInput = {
  /** Default `run_<uuid>`. */
  readonly runId?: string
  /** A run is (`runId`, `nodeId`); default `main`. */
  readonly nodeId?: string
  readonly system?: string
  readonly model?: Model | string
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly tools?: readonly Tool[]
  readonly limits?: Partial<Limits>
  /** Aborting cancels at once: the model call stops, running tools get the signal. */
  readonly signal?: AbortSignal
  /** The tools' working directory, inside the workspace. Default: the workspace. */
  readonly cwd?: string
  readonly metadata?: JsonObject
  /** Hears every event, in order. What it throws is contained. */
  readonly onEvent?: (event: RunEvent) => void
} & (
  | { readonly task: string; readonly messages?: readonly Message[] }
  | { readonly task?: never; readonly messages: readonly Message[] }
)

/** The stream and the controls. Ends after the last event; never throws. May be iterated once. */
export interface RunHandle extends AsyncIterable<RunEvent>, AsyncDisposable {
  readonly runId: string
  readonly nodeId: string
  /** Settles for every ending. */
  readonly result: Promise<RunResult>
  /** The model's text as it streams, nothing else. */
  text(): AsyncIterable<string>
  /** `graceful` (default): the current step finishes. `immediate`: stops. The run ends `cancelled`. */
  interrupt(mode?: InterruptMode): void
}

export interface RunSummary {
  readonly runId: string
  readonly nodeId: string
  readonly status: RunStatus | "running"
  readonly task: string
  readonly turns: number
  readonly startedAt: number
  readonly updatedAt: number
}

export interface Runtime extends AsyncDisposable {
  /** Resolves for every ending; rejects only for a bug of ours. */
  run(input: RunInput): Promise<RunResult>
  stream(input: RunInput): RunHandle
  /** The run as the journal has it, a live one as it stands; `not_found` where there is no such run. */
  status(runId: string, nodeId?: string): Promise<RunState>
  /** Newest first. */
  runs(): Promise<readonly RunSummary[]>
  /** What the journal holds of a run, in order; `after` leaves out what is already known. */
  events(runId: string, options?: { readonly nodeId?: string; readonly after?: number }): AsyncIterable<RunRecord>
  /** Interrupts what runs and waits for it. */
  close(): Promise<void>
}

/** A result that may still be growing, or is not there. */
export type RunState = Omit<RunResult, "status"> & { readonly status: RunStatus | "running" | "not_found" }
