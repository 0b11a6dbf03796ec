import type { ArtifactStore, PersistArtifact } from "./artifacts.ts"
import type { Backend } from "./backend.ts"
import type { Effort } from "./effort.ts"
import type { Environment } from "./env.ts"
import type { Failure } from "./error.ts"
import type { RunEvent, RunRecord } from "./event.ts"
import type { Hooks } from "./hooks.ts"
import type { AsJson, Json, JsonObject, JsonSchema } from "./json.ts"
import type { GivenMessage } from "./message.ts"
import type { Observer } from "./observe.ts"
import type { Pricing } from "./pricing.ts"
import type { Model, Transport } from "./provider.ts"
import type { Limits, RunFacts, RunResult, RunStatus } from "./result.ts"
import type { InterruptMode } from "./session.ts"
import type { InferOutput, StandardSchema } from "./standard-schema.ts"
import type { Store } from "./store.ts"
import type { Tool, UnknownOutcome } from "./tool.ts"
import type { Webhook, WebhookControls, WithWebhook } from "./webhook.ts"

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
  /** What to do with a call whose process died before its outcome was recorded. Default `tell`; a tool's own word counts more. */
  readonly unknownOutcome?: UnknownOutcome
  /** Looks for runs that lost their process as soon as the runtime is made, and resumes or marks them. Default: it does not. */
  readonly recover?: "resume" | "mark"
  /** Keeps background work alive where a host would otherwise end with the request that began it. */
  readonly executor?: BackgroundExecutor
  /** Hears of every run in the background that names no other. */
  readonly webhook?: Webhook
  /** Hosts of webhooks that may lie in a private network, as `host` or `host:port`. Default: none. */
  readonly webhookAllow?: readonly string[]
  /** Runs at once; the others wait. Default: no limit. */
  readonly concurrency?: number
  readonly hooks?: Hooks
  readonly observers?: readonly Observer[]
  /** Keys and the like, by name. Asked before the environment. */
  readonly secrets?: Readonly<Record<string, string | (() => string)>>
  readonly env?: Environment
  /** Where what is too long for a transcript is kept. Default: with the run in `longhaul/node`, else nowhere. */
  readonly artifacts?: ArtifactStore
  /** Becomes `artifacts` where none is given. */
  readonly persistArtifact?: PersistArtifact
  readonly transport?: Transport
  /** Becomes the transport where none is given: rewrites headers, goes through proxies. */
  readonly fetch?: typeof fetch
  readonly brand?: Partial<Brand>
  readonly logger?: Logger
  /** Who this process is, for those who must know whether an owner is gone. */
  readonly owner?: JsonObject
}

export interface BackgroundExecutor {
  /** `work` never rejects. */
  run(work: Promise<unknown>): void
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

/**
 * Where the runtime reports what it does. Never a prompt, an answer, an argument or a result; `debug` also gets the
 * exceptions that tools throw, with known secrets replaced. What a logger throws or rejects is contained.
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
  /** What to do with a call whose process died before its outcome was recorded. */
  readonly unknownOutcome?: UnknownOutcome
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
  | { readonly task: string; readonly messages?: readonly GivenMessage[] }
  | { readonly task?: never; readonly messages: readonly GivenMessage[] }
)

/**
 * How a run goes on. What it was asked is in its journal; what cannot be there (tools of its own, a model as a value, a
 * Standard Schema) is given again.
 */
export interface ResumeInput {
  readonly runId: string
  readonly nodeId?: string
  /**
   * About the call that the run waits for. `approve`: it runs. `deny`: it does not, and the model hears why. A paused run
   * needs a decision or an `answer`.
   */
  readonly decision?: "approve" | "deny"
  /** Names the question that is decided, as the pause does: an answer to any other is `approval_stale`. */
  readonly ticket?: string
  /** Words for the model. Without a decision they are the result of the call, which then does not run. */
  readonly answer?: string
  /** Approved instead of the model's arguments. The gate is asked about them again. */
  readonly args?: Json
  /** Takes a run from an owner that may be alive. */
  readonly takeover?: boolean
  readonly model?: Model | string
  readonly tools?: readonly Tool[]
  readonly outputSchema?: JsonSchema | StandardSchema
  /** Count from the run's beginning; `timeMs` from here. */
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal
  readonly onEvent?: (event: RunEvent) => void
  readonly onProgress?: (message: string) => void
}

/** How the next exchange of a conversation differs from the one before. `nodeId`: any of its exchanges, default `main`. */
export type ContinueInput = Omit<RunInput, "task" | "messages" | "runId">

export interface RunReference {
  readonly runId: string
  readonly nodeId: string
}

/** What became of a run that was begun in the background, as far as that is known at once. */
export interface StartedRun extends RunReference {
  readonly status: RunState["status"]
  /** Why it could not begin. */
  readonly error?: Failure
}

/** A file that the tools could read too, or bytes (base64 or raw) with their media type. */
export type Attachment =
  | { readonly path: string; readonly mediaType?: string }
  | { readonly data: string | Uint8Array; readonly mediaType: string; readonly name?: string }

/** The stream and the controls. Ends after the last event; never throws. May be iterated once. */
export interface RunHandle<Data = Json> extends AsyncIterable<RunEvent>, AsyncDisposable {
  readonly runId: string
  readonly nodeId: string
  /** Settles for every ending. */
  readonly result: Promise<RunResult<Data>>
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
  /** The node whose conversation it continues, where it does. */
  readonly continues?: string
  readonly status: RunStatus | "running"
  /** It is `running` on record, and its process is known to be dead. */
  readonly lost?: true
  readonly task: string
  readonly turns: number
  readonly startedAt: number
  readonly updatedAt: number
}

export interface RunFilter {
  readonly status?: RunSummary["status"]
  readonly limit?: number
  /** Only those that began before this run: the last one of the page before. */
  readonly before?: string
}

/** An input whose answer must fit a Standard Schema, which then gives the type of `data`. */
export interface WithSchema<Schema extends StandardSchema> {
  readonly outputSchema: Schema
  readonly outputMode?: "strict"
}

/** What `data` is: the schema's output, as JSON holds it. */
export type DataOf<Schema extends StandardSchema> = AsJson<InferOutput<Schema>>

export interface Runtime extends AsyncDisposable, WebhookControls {
  /** Resolves for every ending; rejects only for a bug of ours. `data` has the type that the input asks for. */
  run<Schema extends StandardSchema>(input: RunInput & WithSchema<Schema>): Promise<RunResult<DataOf<Schema>>>
  run(input: RunInput): Promise<RunResult>
  stream<Schema extends StandardSchema>(input: RunInput & WithSchema<Schema>): RunHandle<DataOf<Schema>>
  stream(input: RunInput): RunHandle
  /** Goes on with a run that is paused, failed, cancelled or has lost its process, in any process that has the store. */
  resume<Schema extends StandardSchema>(input: ResumeInput & WithSchema<Schema>): Promise<RunResult<DataOf<Schema>>>
  resume(input: ResumeInput): Promise<RunResult>
  /** The same with its stream and controls, as `stream` gives them for a new run. */
  resumeStream(input: ResumeInput): RunHandle
  /**
   * Says something more to a run that has ended, as the next exchange of one conversation, in any process that has the
   * store. It is a run of its own under the same `runId`, whose `nodeId` is in the result; what was said before is not
   * copied. Settings stay as they were unless others are given. Limits count for each exchange.
   */
  continue(runId: string, text: string, options?: ContinueInput): Promise<RunResult>
  /** The same with its stream and controls, once it is known which exchange is next. Rejects where there can be none. */
  continueStream(runId: string, text: string, options?: ContinueInput): Promise<RunHandle>
  /** Begins a run in the background: answers once its journal has begun, or why it could not. */
  start(input: RunInput & WithWebhook): Promise<StartedRun>
  resumeAsync(input: ResumeInput & WithWebhook): Promise<StartedRun>
  /** Until the run has ended, paused or was never there; with `timeoutMs` no longer than that, and then as it stands. */
  waitFor(
    runId: string,
    options?: { readonly nodeId?: string; readonly timeoutMs?: number; readonly pollIntervalMs?: number },
  ): Promise<RunState>
  /**
   * A new run that begins as a copy of another's records up to `at` (default: all). It is paused; `resume` makes it go on
   * from there, on its own model if one is given, with effects of its own.
   */
  fork(
    runId: string,
    options?: { readonly nodeId?: string; readonly at?: number; readonly newRunId?: string },
  ): Promise<RunReference>
  /** Tells all that happened once more, from the journal alone: no model is asked and no tool runs. */
  replay(
    runId: string,
    options?: { readonly nodeId?: string; readonly onEvent?: (event: RunEvent) => void },
  ): Promise<RunState>
  /** Deletes what a run holds; its id stays taken. False: there is none. One that is under way is `run_active`. */
  remove(runId: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /**
   * Finds runs whose process is gone (known to be, or without any sign for `staleMs`, default 60 s) and resumes them in the
   * background or marks them failed, `orphaned` (the default). Answers which.
   */
  recoverOrphanedRuns(options?: {
    readonly staleMs?: number
    readonly action?: "resume" | "mark"
  }): Promise<readonly RunReference[]>
  /** The run as the journal has it, a live one as it stands; `not_found` where there is no such run. */
  status(runId: string, nodeId?: string): Promise<RunState>
  /** Newest first. */
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  /**
   * What the journal holds of a run, in order; `after` leaves out what is already known. With `follow` it goes on with what
   * a live run adds, in whatever process, until the run has ended or paused.
   */
  events(
    runId: string,
    options?: {
      readonly nodeId?: string
      readonly after?: number
      readonly follow?: boolean
      readonly signal?: AbortSignal
    },
  ): AsyncIterable<RunRecord>
  /** Ends a run, wherever it is: a live one at once, a paused one as it is. False: there is nothing to end. */
  cancel(runId: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /** As on the handle, wherever the run is. False: no such run is under way. */
  interrupt(runId: string, mode?: InterruptMode, options?: { readonly nodeId?: string }): Promise<boolean>
  /** As on the handle, wherever the run is; one that is paused hears it when it goes on. False: there is no such run. */
  steer(runId: string, text: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /** Another runtime over the same store, with some settings changed. Each is closed on its own. */
  with(overrides: Partial<RuntimeConfig>): Runtime
  /** Interrupts what runs and waits for it. */
  close(): Promise<void>
}

/** A result, or a run that has none yet: one that waits for its slot, is under way, or is not there. */
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
