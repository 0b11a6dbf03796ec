import type { Capabilities, Probe, ToolEnforcement } from "./capabilities.ts"
import type { Failure } from "./error.ts"
import type { RunEvent, RunRecord } from "./event.ts"
import type { Json, JsonSchema } from "./json.ts"
import type { RunFacts, RunResult } from "./result.ts"
import type {
  ContinueInput,
  DataOf,
  EventsOptions,
  ResumeInput,
  RunFilter,
  RunHandle,
  RunInput,
  RunReference,
  RunSummary,
  RuntimeConfig,
  StartedRun,
  WithSchema,
} from "./run.ts"
import type { InterruptMode } from "./session.ts"
import type { StandardSchema } from "./standard-schema.ts"
import type { WebhookControls, WithWebhook } from "./webhook.ts"

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
  /**
   * Resolves when the run has ended or paused, or does not exist; after `timeoutMs` with its state at that time. `outputSchema`
   * types `data`, as one of `schemas` or its name: rejects with `config_invalid` if the run is done and was not checked by it.
   */
  waitFor<Schema extends StandardSchema>(
    runId: string,
    options: WaitOptions & { readonly outputSchema: Schema },
  ): Promise<RunState<DataOf<Schema>>>
  waitFor(runId: string, options?: WaitOptions): Promise<RunState>
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
   * the background, or marks them as failed with `orphaned` (the default). `resume` also takes runs that `close({ release: true })`
   * or `release()` left, but not those at the end of a slice. Returns these runs.
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
  /**
   * Shortens the conversation of a run in any process before its next turn, or of a paused run when it is resumed, as if it
   * were too long. False: it does not exist or has ended.
   */
  compact(runId: string, options?: { readonly nodeId?: string }): Promise<boolean>
  /** The backends that runs can use, by name, and whether each works here. Starts no session and costs nothing. */
  backends(): Promise<readonly BackendStatus[]>
  /** The capabilities that a backend declares. Rejects with `config_invalid` for an unknown name. */
  capabilities(name: string): Promise<Capabilities>
  /** How far the policy reaches on a backend, tool by tool. */
  enforcement(name: string): Promise<readonly ToolEnforcement[]>
  /** Another runtime over the same store, with some settings changed. Each is closed separately. */
  with(overrides: Partial<RuntimeConfig>): Runtime
  /**
   * Cancels all runs of this runtime immediately, waits for them and for webhooks, and flushes observers. With `release` the runs
   * finish their turns and pause as `released` instead, also those that were queued: nothing is lost in a deployment.
   */
  close(options?: { readonly release?: boolean }): Promise<void>
}

export interface WaitOptions {
  readonly nodeId?: string
  readonly timeoutMs?: number
  readonly pollIntervalMs?: number
  readonly outputSchema?: JsonSchema | StandardSchema | string
}

export interface BackendStatus extends Probe {
  readonly name: string
}

/** A result, or the state of a run without one: queued, running or not found. */
export type RunState<Data = Json> = RunResult<Data> | UnfinishedRun | MissingRun

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
