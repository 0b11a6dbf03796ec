import type { ArtifactStore, PersistArtifact } from "./artifacts.ts"
import type { Backend } from "./backend.ts"
import type { Brand } from "./brand.ts"
import type { Environment } from "./env.ts"
import type { Failure } from "./error.ts"
import type { RunEvent, RunRecord } from "./event.ts"
import type { Hooks } from "./hooks.ts"
import type { AsJson, Json, JsonObject, JsonSchema } from "./json.ts"
import type { GivenMessage } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Observer } from "./observe.ts"
import type { Policy, RunPolicy } from "./policy.ts"
import type { Pricing } from "./pricing.ts"
import type { Model, Transport } from "./provider.ts"
import type { Limits, PauseReason, RunFacts, RunResult, RunStatus } from "./result.ts"
import type { InterruptMode } from "./session.ts"
import type { InferOutput, StandardSchema } from "./standard-schema.ts"
import type { Store } from "./store.ts"
import type { Tool, UnknownOutcome } from "./tool.ts"
import type { Webhook, WebhookControls, WithWebhook } from "./webhook.ts"

/** The settings of a runtime. Every key is optional. */
export interface RuntimeConfig {
  /** The folder that the tools work in. */
  readonly workspace?: string
  /** Where runs are stored. Default: in memory; in `longhaul/node` on disk. */
  readonly store?: Store
  /** The tenant within the store: workspaces cannot see each other's runs. */
  readonly workspaceId?: string
  /** A value; names such as `anthropic:claude-sonnet-4-6` resolve in `longhaul/node`. */
  readonly model?: Model | string
  readonly backend?: Backend
  readonly tools?: readonly Tool[]
  /** Offer only these tools. Default: all. */
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  readonly limits?: Partial<Limits>
  /** Returns the price of a model; undefined: use the included table, null: unknown price. */
  readonly resolvePricing?: (model: ModelName) => Pricing | null | undefined | Promise<Pricing | null | undefined>
  /** Applies if `limits.usd` is set and a price is unknown. Default `refuse`; `warn`: run without that limit. */
  readonly unknownPrice?: "refuse" | "warn"
  /**
   * Applies to a call whose process died before its outcome was recorded. Default `tell`; a tool's own setting takes
   * precedence.
   */
  readonly unknownOutcome?: UnknownOutcome
  /**
   * Finds runs whose process is dead when the runtime is created, and resumes them or marks them as `orphaned`.
   * Default: off.
   */
  readonly recover?: "resume" | "mark"
  /** Keeps background work alive if the host would otherwise stop it after the request. */
  readonly executor?: BackgroundExecutor
  /** Receives the events of every background run without its own webhook. */
  readonly webhook?: Webhook
  /** Hosts in private networks that webhooks may reach, as `host` or `host:port`. Default: none. */
  readonly webhookAllow?: readonly string[]
  /** Maximum number of concurrent runs; others wait as `queued`. Default: no limit. */
  readonly concurrency?: number
  /** Decides which calls run. Default: high-risk tools are denied, all others run. */
  readonly policy?: Policy
  readonly hooks?: Hooks
  readonly observers?: readonly Observer[]
  /**
   * Keys and other secrets, by name. They take precedence over environment variables. Their values are masked in everything
   * that is stored, sent or shown; tools get them in the arguments of a call.
   */
  readonly secrets?: Readonly<Record<string, string | (() => string)>>
  readonly env?: Environment
  /**
   * Stores tool results that are too long for a transcript. Default: next to the run in `longhaul/node`, elsewhere
   * nothing.
   */
  readonly artifacts?: ArtifactStore
  /** A simpler form of `artifacts`. */
  readonly persistArtifact?: PersistArtifact
  readonly transport?: Transport
  /** Makes model calls if no `transport` is given: to rewrite headers or to use a proxy. */
  readonly fetch?: typeof fetch
  readonly brand?: Partial<Brand>
  readonly logger?: Logger
  /** Identifies this process, so that others can tell whether the owner of a run is dead. */
  readonly owner?: JsonObject
}

export interface BackgroundExecutor {
  /** `work` never rejects. */
  run(work: Promise<unknown>): void
}

/**
 * Receives the runtime's actions: never a prompt, an answer, an argument or a result. `debug` also gets exceptions of
 * tools. Secrets are masked in all of it. Exceptions of a logger are contained.
 */
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

export type RunInput = ModelSettings & {
  /** Default `run_<uuid>`. */
  readonly runId?: string
  /** A run is (`runId`, `nodeId`); default `main`. */
  readonly nodeId?: string
  readonly system?: string
  readonly model?: Model | string
  readonly tools?: readonly Tool[]
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  /** Images, PDFs and text to attach to the task. */
  readonly attachments?: readonly Attachment[]
  /** The schema of the final answer: a JSON Schema or a Standard Schema. */
  readonly outputSchema?: JsonSchema | StandardSchema
  /**
   * `strict` (default): `data` matches the schema or the run fails, after the validation errors were sent back once.
   * `forward`: `data` is the answer as it came, and `structuredSource` describes it.
   */
  readonly outputMode?: "strict" | "forward"
  readonly limits?: Partial<Limits>
  readonly slice?: Slice
  /** Applies to a call whose process died before its outcome was recorded. */
  readonly unknownOutcome?: UnknownOutcome
  /** Adds rules to the runtime's policy; its other settings take precedence over the runtime's. */
  readonly policy?: RunPolicy
  /** Aborting cancels immediately: the model call stops, running tools get the signal. */
  readonly signal?: AbortSignal
  /** The tools' working directory, inside the workspace. Default: the workspace. */
  readonly cwd?: string
  readonly metadata?: JsonObject
  /** Receives every event, in order. Exceptions are contained. */
  readonly onEvent?: (event: RunEvent) => void
  /** Receives each finished text and turn as text. Exceptions are contained. */
  readonly onProgress?: (message: string) => void
} & (
    | { readonly task: string; readonly messages?: readonly GivenMessage[] }
    | { readonly task?: never; readonly messages: readonly GivenMessage[] }
  )

/**
 * Releases a run after so many turns or so much time in this process, whichever comes first, but after one turn at least. The
 * run pauses as `released`, with nothing under way, until it is resumed here or elsewhere.
 */
export interface Slice {
  readonly turns?: number
  readonly timeMs?: number
}

/**
 * How a run is resumed. Its input is in its journal; values that cannot be stored there (its own tools, a model as a
 * value, a Standard Schema) are passed again.
 */
export interface ResumeInput {
  readonly runId: string
  readonly nodeId?: string
  /**
   * Decision about the pending call. `approve`: it runs. `always`: also similar calls run without asking from now on in this run,
   * as stated by the pause. `deny`: it does not run, and the model gets `answer` as the reason. A paused run needs a
   * decision or an `answer`.
   */
  readonly decision?: "approve" | "deny" | "always"
  /** The ticket of the pause: if another call is pending by now, the result is `approval_stale`. */
  readonly ticket?: string
  /** Text for the model. Without a decision it is the result of the call, which then does not run. */
  readonly answer?: string
  /** Replaces the arguments of the approved call. The gate sees them again. */
  readonly args?: Json
  /** Takes the run from an owner that may be alive. Default false: the result is `run_active`. */
  readonly takeover?: boolean
  readonly model?: Model | string
  readonly tools?: readonly Tool[]
  readonly outputSchema?: JsonSchema | StandardSchema
  /** Turns, tokens and dollars count from the start of the run; `timeMs` from here. */
  readonly limits?: Partial<Limits>
  readonly slice?: Slice
  /** Adds to the policy that was stored with the run. */
  readonly policy?: RunPolicy
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
  readonly onProgress?: (message: string) => void
}

/**
 * Settings of the next exchange that differ from the previous one. `nodeId`: any exchange of the conversation, default
 * `main`.
 */
export type ContinueInput = Omit<RunInput, "task" | "messages" | "runId">

export interface RunReference {
  readonly runId: string
  readonly nodeId: string
}

/** The state of a background run just after it was started. */
export interface StartedRun extends RunReference {
  readonly status: RunState["status"]
  /** The reason why it could not start. */
  readonly error?: Failure
}

/** A file that the tools could also read, or bytes (base64 or raw) with their media type. */
export type Attachment =
  | { readonly path: string; readonly mediaType?: string }
  | { readonly data: string | Uint8Array; readonly mediaType: string; readonly name?: string }

/** The event stream and the controls. Ends after the last event; never throws. May be iterated once. */
export interface RunHandle<Data = Json> extends AsyncIterable<RunEvent>, AsyncDisposable {
  readonly runId: string
  readonly nodeId: string
  /** Settles however the run ends. */
  readonly result: Promise<RunResult<Data>>
  /** Only the model's text, as it streams. */
  text(): AsyncIterable<string>
  /**
   * `graceful` (default): the current step finishes. `immediate`: stops. The run ends as `cancelled`. False: it has
   * already ended.
   */
  interrupt(mode?: InterruptMode): boolean
  /**
   * Lets the turn under way finish with all its calls, begins no other and pauses the run as `released`, so that any process
   * can resume it. False: it is over, or is being stopped or released already.
   */
  release(): boolean
  /** Sends text to the model before its next turn. False: it is too late. */
  steer(text: string): boolean
}

export interface RunSummary {
  readonly runId: string
  readonly nodeId: string
  /** The node whose conversation it continues, if any. */
  readonly continues?: string
  readonly status: RunStatus | "running"
  /** The reason why it is paused, if it is. */
  readonly pause?: PauseReason
  /** Recorded as `running`, but its process is known to be dead. */
  readonly lost?: true
  readonly task: string
  readonly turns: number
  readonly startedAt: number
  readonly updatedAt: number
}

export interface RunFilter {
  /** Only runs of this status, or of one of these. */
  readonly status?: RunSummary["status"] | readonly RunSummary["status"][]
  /** Only the nodes of this run. */
  readonly runId?: string
  readonly limit?: number
  /**
   * Only runs after this position: the last summary of the previous page. A `runId` stands for the newest node of that run,
   * or for the start of the list if there is no such run.
   */
  readonly before?: RunPosition | string
}

export interface EventsOptions {
  readonly nodeId?: string
  readonly after?: number
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

/** A position in a list of runs. It stays valid if the run is removed. */
export type RunPosition = Pick<RunSummary, "runId" | "nodeId" | "startedAt">

/** An input with a Standard Schema, which types `data`. */
export interface WithSchema<Schema extends StandardSchema> {
  readonly outputSchema: Schema
  readonly outputMode?: "strict"
}

/** The type of `data`: the schema's output as JSON. */
export type DataOf<Schema extends StandardSchema> = AsJson<InferOutput<Schema>>

export interface Runtime extends AsyncDisposable, WebhookControls {
  /**
   * Runs a task to completion. Resolves however the run ends; rejects only for a bug in Longhaul. A Standard Schema
   * types `data`.
   */
  run<Schema extends StandardSchema>(input: RunInput & WithSchema<Schema>): Promise<RunResult<DataOf<Schema>>>
  run(input: RunInput): Promise<RunResult>
  /** The same as a handle: events, controls and result. */
  stream<Schema extends StandardSchema>(input: RunInput & WithSchema<Schema>): RunHandle<DataOf<Schema>>
  stream(input: RunInput): RunHandle
  /** Continues a run that is paused, failed, cancelled or whose process is dead, in any process with the store. */
  resume<Schema extends StandardSchema>(input: ResumeInput & WithSchema<Schema>): Promise<RunResult<DataOf<Schema>>>
  resume(input: ResumeInput): Promise<RunResult>
  /** The same as a handle. */
  resumeStream(input: ResumeInput): RunHandle
  /**
   * Adds an exchange to a run that has ended, as one conversation, in any process with the store. The exchange has the
   * same `runId` and its own `nodeId`; earlier messages are not copied. Settings are kept unless overridden. Limits
   * apply per exchange.
   */
  continue(runId: string, text: string, options?: ContinueInput): Promise<RunResult>
  /** The same as a handle. Rejects if the conversation cannot be continued. */
  continueStream(runId: string, text: string, options?: ContinueInput): Promise<RunHandle>
  /** Starts a run in the background. Resolves once it is in the journal, or with the reason why it could not start. */
  start(input: RunInput & WithWebhook): Promise<StartedRun>
  /** Resumes a run in the background. */
  resumeAsync(input: ResumeInput & WithWebhook): Promise<StartedRun>
  /** Resolves when the run has ended or paused, or does not exist; after `timeoutMs` with its state at that time. */
  waitFor(
    runId: string,
    options?: { readonly nodeId?: string; readonly timeoutMs?: number; readonly pollIntervalMs?: number },
  ): Promise<RunState>
  /**
   * Copies a run up to the record `at` (default: all) under a new id. The copy is paused; `resume` continues it from
   * there, on another model if given, with its own effects.
   */
  fork(
    runId: string,
    options?: { readonly nodeId?: string; readonly at?: number; readonly newRunId?: string },
  ): Promise<RunReference>
  /** Publishes the events of a run again, from the journal alone: no model is called and no tool runs. */
  replay(
    runId: string,
    options?: { readonly nodeId?: string; readonly onEvent?: (event: RunEvent) => void },
  ): Promise<RunState>
  /** Deletes a run with all its exchanges; its id stays reserved. False: it does not exist. Rejects while it runs. */
  remove(runId: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /**
   * Finds runs whose process is dead (known to be, or without a sign of life for `staleMs`, default 60 s) and resumes them in
   * the background, or marks them as failed with `orphaned` (the default). Returns these runs.
   */
  recoverOrphanedRuns(options?: {
    readonly staleMs?: number
    readonly action?: "resume" | "mark"
  }): Promise<readonly RunReference[]>
  /** The state of a run, read from its journal; `not_found` if it does not exist. */
  status(runId: string, nodeId?: string): Promise<RunState>
  /** Newest first; of runs that began in the same millisecond, by `runId` and `nodeId`. */
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  /**
   * The records of a run, in order, after the `seq` given as `after`. With `follow` also new records of an active run in any
   * process, until it has ended or paused; `deltas` adds the events that are not recorded, if the run is in this process.
   */
  events(
    runId: string,
    options: EventsOptions & { readonly follow: true; readonly deltas: true },
  ): AsyncIterable<RunEvent>
  events(runId: string, options?: EventsOptions): AsyncIterable<RunRecord>
  /** Cancels an active run in any process immediately, or a paused run. False: there is nothing to cancel. */
  cancel(runId: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /** As on the handle, for a run in any process. False: it is not running. */
  interrupt(runId: string, mode?: InterruptMode, options?: { readonly nodeId?: string }): Promise<boolean>
  /** As on the handle, for a run in any process; a paused run gets it when it is resumed. False: it does not exist. */
  steer(runId: string, text: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /** Another runtime over the same store, with some settings changed. Each is closed separately. */
  with(overrides: Partial<RuntimeConfig>): Runtime
  /**
   * Cancels all runs of this runtime immediately, waits for them and for webhooks, and flushes observers. With `release` the runs
   * finish their turns and pause as `released` instead, also those that were queued: nothing is lost in a deployment.
   */
  close(options?: { readonly release?: boolean }): Promise<void>
}

/** A result, or the state of a run without one: queued, running or not found. */
export type RunState = RunResult | UnfinishedRun | MissingRun

export interface UnfinishedRun extends RunFacts {
  readonly status: "queued" | "running"
  /** Its process is known to be dead: resume it, or let `recoverOrphanedRuns` do so. */
  readonly lost?: true
  readonly data: null
  readonly pause?: never
  readonly error?: never
}

export interface MissingRun extends RunFacts {
  readonly status: "not_found"
  readonly data: null
  readonly pause?: never
  readonly error: Failure
}
