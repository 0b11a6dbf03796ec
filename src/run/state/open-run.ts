import type { Ephemeral, RunRecord } from "../../contract/event.ts"
import type { RunResult } from "../../contract/result.ts"
import type { SessionRef } from "../../contract/session.ts"
import type { Folder, RunKey } from "../../contract/store.ts"
import type { Journal } from "../../journal/journal.ts"
import type { RunProjection } from "../../journal/projection.ts"
import type { Semaphore } from "../../lib/semaphore.ts"
import type { ActivePolicy } from "../../policy/pipeline.ts"
import type { Redactor } from "../../policy/redact/redactor.ts"
import type { OwnerWatch } from "../../runs/owner-watch.ts"
import type { RunTarget } from "../../settings/backends/targets.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { CheckedInput } from "../../settings/input/input.ts"
import type { AnswerCheck } from "../../settings/options/output.ts"
import type { Agents } from "./agents.ts"
import type { RunControls } from "./controls.ts"
import type { RunHooks } from "./hooks.ts"
import type { Ledger } from "./ledger.ts"
import type { Opening } from "./opening.ts"
import type { Publisher } from "./publisher.ts"
import type { Slot } from "./slot.ts"

/** A run that this process owns. */
export interface OpenRun {
  /** The settings of the runtime. */
  readonly config: ResolvedConfig
  /** With the tenant that its idempotency keys begin with. */
  readonly key: RunKey
  /** Of the store and the workspace; also of a run whose keys do not begin with it. */
  readonly tenant: string
  input: CheckedInput
  readonly folder: Folder
  readonly journal: Journal
  /** The fold over the durable records. */
  readonly projection: RunProjection
  readonly publisher: Publisher
  readonly controls: RunControls
  readonly ledger: Ledger
  readonly hooks: RunHooks
  readonly policy: ActivePolicy
  readonly tree: RunTree
  /** Present if it may start agents. */
  agents?: Agents
  /** Knows the secrets of the runtime and of the run's model. */
  readonly redactor: Redactor
  /** Present if the answer must have a form. */
  output?: AnswerCheck
  /** The backend in use, with its model. */
  target: RunTarget
  /** The session that the backend continues, if the run left one. */
  left: SessionRef | undefined
  /** The calls that were open when the run was resumed. */
  openBefore: readonly string[]
  /** Every durable record, if the run will be released. */
  readonly history?: readonly RunRecord[]
  /** Publishes an ephemeral event once every earlier record is durable. */
  show(event: Ephemeral): void
}

/** Where a run stands: above its agents, or as one of them. */
export interface RunTree {
  /** 0: the run itself. */
  readonly level: number
  /** The names of the types from the run on, for the policy: `root/reviewer`. */
  readonly name: string
  /** True if a call that needs a person's decision is denied. */
  readonly deniesQuestions: boolean
  /** The run that started this agent. Absent for the run itself. */
  readonly parent?: OpenRun
  /** The slot of this agent among those that work at once. Absent for the run itself. */
  readonly slot?: Slot
  readonly shared: SharedTree
}

/** The services of a runtime that every run of it uses. */
export interface RunServices {
  readonly watch: OwnerWatch
  readonly monitor: InboxMonitor
  /** Executes an agent as a run of its own. */
  readonly execute: ExecuteRun
}

/** The parts that a run and its agents share in this process. */
export interface SharedTree extends RunServices {
  /** Limits how many agents work at once. */
  readonly slots: Semaphore
  /** All agents that the run has started, also in earlier processes. */
  started: number
}

/** Reads the inboxes of the runs of this process. */
export interface InboxMonitor {
  /** Returns a function that stops the monitoring. */
  add(run: OpenRun): () => Promise<void>
  /** Reads the inbox of a monitored run now: an agent that has just ended may have sent a message. */
  readInbox(run: OpenRun): Promise<void>
  /** Delivers the message in a slot now. False: the run accepts no further messages. Undefined: it is not monitored here. */
  deliver(key: RunKey, slot: number): Promise<boolean | undefined>
}

/** The parts that this process gives a run, apart from its input. */
export interface RunContext {
  readonly publisher: Publisher
  readonly controls: RunControls
  /** A run of its own, or the position of an agent. */
  readonly position: { readonly services: RunServices } | { readonly agent: RunTree }
  /** Called once this process owns the run and its first records are durable. Returns a function to call when it has ended. */
  opened(run: OpenRun): () => Promise<void>
}

/** Opens a run and executes it. Resolves with a result, however the run ends. */
export type ExecuteRun = (
  config: ResolvedConfig,
  key: RunKey,
  open: () => Promise<Opening>,
  context: RunContext,
) => Promise<RunResult>
