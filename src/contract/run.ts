import type { Backend } from "./backend.ts"
import type { Effort } from "./effort.ts"
import type { Environment } from "./env.ts"
import type { RunEvent, RunRecord } from "./event.ts"
import type { Hooks } from "./hooks.ts"
import type { JsonObject, JsonSchema } from "./json.ts"
import type { Message } from "./message.ts"
import type { Observer } from "./observe.ts"
import type { Pricing } from "./pricing.ts"
import type { Model, Transport } from "./provider.ts"
import type { Limits, RunResult, RunStatus } from "./result.ts"
import type { InterruptMode } from "./session.ts"
import type { StandardSchema } from "./standard-schema.ts"
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
  /** The only ones that are offered. Default: all. */
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  readonly limits?: Partial<Limits>
  /** What a model costs, before our own table is asked; null: it is not known. */
  readonly resolvePricing?: (model: ModelName) => Pricing | null | undefined | Promise<Pricing | null | undefined>
  /** What to do where `limits.usd` is set and a price is not known. Default `refuse`; `warn`: run without that limit. */
  readonly unknownPrice?: "refuse" | "warn"
  /** Runs at once; the others wait. Default: no limit. */
  readonly concurrency?: number
  readonly hooks?: Hooks
  readonly observers?: readonly Observer[]
  /** Keys and the like, by name. Asked before the environment. */
  readonly secrets?: Readonly<Record<string, string | (() => string)>>
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

/** Where the runtime says what it does. Never a prompt, an answer, an argument or a result. */
export interface Logger {
  debug?(message: string, data?: JsonObject): void
  info?(message: string, data?: JsonObject): void
  warn(message: string, data?: JsonObject): void
  error?(message: string, data?: JsonObject): void
}

export interface ModelName {
  readonly provider: string
  readonly id: string
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
  readonly effort?: Effort
  readonly tools?: readonly Tool[]
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  /** Images, PDFs and text that go with the task. */
  readonly attachments?: readonly Attachment[]
  /** The form of the final answer: a JSON Schema or a Standard Schema. */
  readonly outputSchema?: JsonSchema | StandardSchema
  /**
   * `strict` (default): `data` fits the schema or the run fails, after the model was told once what was wrong. `forward`:
   * `data` is what came, and `structuredSource` says what that is.
   */
  readonly outputMode?: "strict" | "forward"
  readonly limits?: Partial<Limits>
  /** Aborting cancels at once: the model call stops, running tools get the signal. */
  readonly signal?: AbortSignal
  /** The tools' working directory, inside the workspace. Default: the workspace. */
  readonly cwd?: string
  readonly metadata?: JsonObject
  /** Hears every event, in order. What it throws is contained. */
  readonly onEvent?: (event: RunEvent) => void
  /** Hears each text the model finished and each turn that is over, in words. What it throws is contained. */
  readonly onProgress?: (message: string) => void
} & (
  | { readonly task: string; readonly messages?: readonly Message[] }
  | { readonly task?: never; readonly messages: readonly Message[] }
)

/** A file that the tools could read too, or bytes (base64 or raw) with their media type. */
export type Attachment =
  | { readonly path: string; readonly mediaType?: string }
  | { readonly data: string | Uint8Array; readonly mediaType: string; readonly name?: string }

/** The stream and the controls. Ends after the last event; never throws. May be iterated once. */
export interface RunHandle extends AsyncIterable<RunEvent>, AsyncDisposable {
  readonly runId: string
  readonly nodeId: string
  /** Settles for every ending. */
  readonly result: Promise<RunResult>
  /** The model's text as it streams, nothing else. */
  text(): AsyncIterable<string>
  /** `graceful` (default): the current step finishes. `immediate`: stops. The run ends `cancelled`. False: it is over. */
  interrupt(mode?: InterruptMode): boolean
  /** Says something to the model before its next turn. False: it is too late. */
  steer(text: string): boolean
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
  /** As on the handle, for a run of this runtime. False: no such run is under way here. */
  interrupt(runId: string, mode?: InterruptMode): boolean
  steer(runId: string, text: string): boolean
  /** Another runtime over the same store, with some settings changed. Each is closed on its own. */
  with(overrides: Partial<RuntimeConfig>): Runtime
  /** Interrupts what runs and waits for it. */
  close(): Promise<void>
}

/** A result that may still be growing, or is not there. */
export type RunState = Omit<RunResult, "status"> & {
  readonly status: RunStatus | "queued" | "running" | "not_found"
}
