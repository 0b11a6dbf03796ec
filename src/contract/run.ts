import type { AgentSettings } from "./agents.ts"
import type { ArtifactStore, PersistArtifact } from "./artifacts.ts"
import type { Backend } from "./backend.ts"
import type { Deadlines } from "./backend-env.ts"
import type { Brand } from "./brand.ts"
import type { Feature } from "./capabilities.ts"
import type { CompactionSettings } from "./compaction.ts"
import type { Environment } from "./env.ts"
import type { Failure } from "./error.ts"
import type { RunEvent } from "./event.ts"
import type { Extension } from "./extension.ts"
import type { Hooks } from "./hooks.ts"
import type { AsJson, Json, JsonObject, JsonSchema } from "./json.ts"
import type { McpServers } from "./mcp.ts"
import type { GivenMessage } from "./message.ts"
import type { ModelSettings } from "./model-settings.ts"
import type { Observer } from "./observe.ts"
import type { Policy, RunPolicy } from "./policy.ts"
import type { Pricing } from "./pricing.ts"
import type { Model, Transport } from "./provider.ts"
import type { Limits, PauseReason, RunResult, RunStatus } from "./result.ts"
import type { InterruptMode } from "./session.ts"
import type { InferOutput, StandardSchema } from "./standard-schema.ts"
import type { Store } from "./store.ts"
import type { Tool, UnknownOutcome } from "./tool.ts"
import type { Webhook } from "./webhook.ts"

/** The settings of a runtime. Every key is optional. */
export interface RuntimeConfig {
  /** The folder that the tools work in. */
  readonly workspace?: string
  /** Where runs are stored. Default: in memory; in `longhaul/node` on disk. */
  readonly store?: Store
  /** The tenant within the store: workspaces cannot see each other's runs. */
  readonly workspaceId?: string
  /**
   * Output schemas by name. A run that is started with one of them, or with its name, is checked by it in every process that has
   * it: `resume` and recovery need no schema of their own.
   */
  readonly schemas?: OutputSchemas
  /** A value; names such as `anthropic:claude-sonnet-4-6` resolve in `longhaul/node`. */
  readonly model?: Model | string
  /** The backend that runs the agent. Default `native`. `auto`: chosen by `selection`. Names resolve in `longhaul/node`. */
  readonly backend?: Backend | string
  /** Backends that `backend`, `chain` and `auto` can name, in order of preference. In `longhaul/node` in addition to its own. */
  readonly backends?: readonly Backend[]
  /** Tried in order: a failure that need not happen elsewhere continues the run on the next entry. Instead of `backend`. */
  readonly chain?: readonly ChainEntry[]
  readonly selection?: Selection
  /** MCP servers whose tools the model gets. */
  readonly mcpServers?: McpServers
  /** Sources of tools and instructions. */
  readonly extensions?: readonly Extension[]
  /** Times for backends that run outside this process. */
  readonly deadlines?: Partial<BackendDeadlines>
  readonly tools?: readonly Tool[]
  /** Offer only these tools. Default: all. */
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  readonly limits?: Partial<Limits>
  /** Lets runs start agents. Default: none. */
  readonly agents?: AgentSettings
  /** Keeps conversations within the model's context. `false`: a run fails once it no longer fits. */
  readonly compaction?: CompactionSettings | false
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
   * Finds runs whose process is dead when the runtime is created, and resumes them or marks them as `orphaned`. `resume` also
   * continues runs that were released.
   * Default: off.
   */
  readonly recover?: "resume" | "mark"
  /** Keeps background work alive if the host would otherwise stop it after the request. */
  readonly executor?: BackgroundExecutor
  /** Receives the events of every background run without its own webhook. */
  readonly webhook?: Webhook
  /** Hosts in private networks that webhooks may reach, as `host` or `host:port`. Default: none. */
  readonly webhookAllow?: readonly string[]
  /** Maximum number of concurrent runs, also of the runtimes made from this one by `with`; others wait as `queued`. Default: no limit. */
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
  /** Identifies this process, so that others can determine whether the owner of a run is dead. */
  readonly owner?: JsonObject
}

/** `backend/model`, a name of either, or both with the features that a backend must have; others are skipped. */
export type ChainEntry =
  | string
  | {
      readonly backend?: Backend | string
      readonly model?: Model | string
      readonly requires?: readonly Feature[]
    }

/** How `auto` chooses among the backends that have all required features. If there is none, `native` is used. */
export interface Selection {
  /** Default `capability_match`: the first one. */
  readonly strategy?: "capability_match" | "cost_optimized" | "latency_optimized"
  /** Used if it has all required features. */
  readonly preferred?: string
  /** In addition to the features that the tools and the task need. */
  readonly requires?: readonly Feature[]
}

export interface BackendDeadlines extends Deadlines {
  /** How long a session may give no sign of life. */
  readonly idleMs: number
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
  /** Text that the host remembers for the run: added to the system prompt, fenced as data. */
  readonly memoryContext?: string
  readonly model?: Model | string
  readonly backend?: Backend | string
  readonly chain?: readonly ChainEntry[]
  readonly selection?: Selection
  /** Added to those of the runtime. */
  readonly mcpServers?: McpServers
  /** Added to those of the runtime; one of the same name replaces the runtime's. */
  readonly extensions?: readonly Extension[]
  /** Continues a session that the backend's vendor has stored, for example one that a person began in its program. */
  readonly providerSessionId?: string
  readonly tools?: readonly Tool[]
  readonly allowedTools?: readonly string[]
  readonly disabledTools?: readonly string[]
  /** Images, PDFs and text to attach to the task. */
  readonly attachments?: readonly Attachment[]
  /**
   * The schema of the final answer: a JSON Schema, a Standard Schema, or the name of one in `schemas` of the runtime. Only one of
   * `schemas` is checked as a whole in every process: a journal has its JSON Schema, and not its own checks.
   */
  readonly outputSchema?: JsonSchema | StandardSchema | string
  /**
   * `strict` (default): `data` matches the schema or the run fails, after the validation errors were sent back once.
   * `forward`: `data` is the answer as it came, and `structuredSource` describes it.
   */
  readonly outputMode?: "strict" | "forward"
  readonly limits?: Partial<Limits>
  /** Settings that differ from the runtime's. `false`: the run starts no agents. */
  readonly agents?: AgentSettings | false
  /** Settings that differ from the runtime's. */
  readonly compaction?: CompactionSettings | false
  readonly slice?: Slice
  /** Applies to a call whose process died before its outcome was recorded. */
  readonly unknownOutcome?: UnknownOutcome
  /** Adds rules to the runtime's policy; its other settings take precedence over the runtime's. */
  readonly policy?: RunPolicy
  /** Aborting cancels immediately: the model call stops, running tools get the signal. */
  readonly signal?: AbortSignal
  /** The tools' working directory, inside the workspace. Default: the workspace. */
  readonly cwd?: string
  /** Data of the host that is returned in results, summaries and webhooks, and in the context of tools. */
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
  /** Continues the run on another backend, with its journal. */
  readonly backend?: Backend | string
  readonly mcpServers?: McpServers
  /** The run's own extensions, which its journal cannot store. They are opened again: their instructions may differ. */
  readonly extensions?: readonly Extension[]
  readonly tools?: readonly Tool[]
  /** Replaces the schema of the run. */
  readonly outputSchema?: JsonSchema | StandardSchema | string
  /** All of them count from the start of the run. */
  readonly limits?: Partial<Limits>
  /** The run's own agents, which its journal cannot store, and changed settings. */
  readonly agents?: AgentSettings
  /** Settings that differ from those of the run. */
  readonly compaction?: CompactionSettings | false
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
  readonly status: RunStatus | "queued" | "running" | "not_found"
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
  /** Shortens the conversation before its next turn, if the backend can. False: the run has ended. */
  compact(): boolean
}

export interface RunSummary {
  readonly workspaceId: string
  readonly runId: string
  readonly nodeId: string
  /** The node whose conversation it continues, if any. */
  readonly continues?: string
  readonly status: RunStatus | "running"
  /** The reason why it is paused, if it is. */
  readonly pause?: PauseReason
  /** Recorded as `running`, but its process is known to be dead. */
  readonly lost?: true
  /** Its journal cannot be read: the other fields are as far as they are known, and `status()` says what is wrong. */
  readonly damaged?: true
  readonly task: string
  readonly metadata?: JsonObject
  readonly turns: number
  readonly startedAt: number
  readonly updatedAt: number
}

export interface RunFilter {
  /** Only runs of this status, or of one of these. */
  readonly status?: RunSummary["status"] | readonly RunSummary["status"][]
  /** Only the nodes of this run. */
  readonly runId?: string
  /** Only runs whose `metadata` has all of these entries, with equal values. */
  readonly metadata?: JsonObject
  readonly limit?: number
  /**
   * Only runs after this position: the last summary of the previous page. A `runId` stands for the newest node of that run,
   * or for the start of the list if there is no such run.
   */
  readonly before?: RunPosition | string
}

export interface EventsOptions {
  readonly nodeId?: string
  /** Adds the events of the run's agents, with `agent` set. With `follow` only those that work in this process. */
  readonly agents?: boolean
  readonly after?: number
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

/** A position in a list of runs. It stays valid if the run is removed. */
export type RunPosition = Pick<RunSummary, "runId" | "nodeId" | "startedAt">

/** Schemas of answers, by name. */
export type OutputSchemas = Readonly<Record<string, JsonSchema | StandardSchema>>

/** An input with a Standard Schema, which types `data`. */
export interface WithSchema<Schema extends StandardSchema> {
  readonly outputSchema: Schema
  readonly outputMode?: "strict"
}

/** The type of `data`: the schema's output as JSON. */
export type DataOf<Schema extends StandardSchema> = AsJson<InferOutput<Schema>>
