import type { Ephemeral, RunRecord } from "../../contract/event.ts"
import type { SessionRef } from "../../contract/session.ts"
import type { Folder, RunKey } from "../../contract/store.ts"
import type { Journal } from "../../journal/journal.ts"
import type { RunProjection } from "../../journal/projection.ts"
import type { ActivePolicy } from "../../policy/pipeline.ts"
import type { Redactor } from "../../policy/redact/redactor.ts"
import type { RunTarget } from "../../settings/backends/targets.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { CheckedInput } from "../../settings/input/input.ts"
import type { OutputCheck } from "../../settings/options/output.ts"
import type { RunControls } from "./controls.ts"
import type { RunHooks } from "./hooks.ts"
import type { Ledger } from "./ledger.ts"
import type { AgentPowers, Place } from "./place.ts"
import type { Publisher } from "./publisher.ts"

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
  /** Present if the run is an agent of another one. */
  readonly place?: Place
  /** Agents that it has started before, with those below them. */
  readonly agentsBelow: number
  /** Present if it may start agents, or is one. */
  agents?: AgentPowers
  /** Knows the secrets of the runtime and of the run's model. */
  readonly redactor: Redactor
  /** Present if the answer must have a form. */
  output?: OutputCheck
  /** The backend in use, with its model. */
  target: RunTarget
  /** The session that the backend goes on with, if the run left one. */
  left: SessionRef | undefined
  /** The calls that were open when the run was resumed. */
  openBefore: readonly string[]
  /** Every durable record, if the run will be released. */
  readonly history?: readonly RunRecord[]
  /** Messages from the inbox and answers of agents that the model has not received yet. */
  readonly pendingSteers: PendingSteer[]
  /** Publishes an ephemeral event once every earlier record is durable. */
  show(event: Ephemeral): void
}

/** A message with where it comes from, which its record will say. */
export type PendingSteer =
  | { readonly text: string; readonly inbox: number }
  | { readonly text: string; readonly reason: "agent"; readonly agentId: string }
