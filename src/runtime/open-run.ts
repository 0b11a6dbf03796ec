import type { LonghaulError } from "../contract/error.ts"
import type { Ephemeral, RecordBody, RunRecord } from "../contract/event.ts"
import type { Folder, RunKey } from "../contract/store.ts"
import type { ToolSpec } from "../contract/tool.ts"
import type { RecordedWebhook } from "../contract/webhook.ts"
import { type Journal, type TakeOptions, takeRun } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import { RunProjection } from "../journal/projection.ts"
import { canonicalJson } from "../lib/json.ts"
import type { ResolvedConfig } from "./config.ts"
import type { RunControls } from "./controls.ts"
import { RunHooks } from "./hooks.ts"
import type { CheckedInput } from "./input/input.ts"
import { Ledger } from "./ledger.ts"
import { OutputCheck } from "./output.ts"
import type { Publisher } from "./publisher.ts"
import { type Entering, enterIndex } from "./runs/run-index.ts"

/** A run that this process owns. */
export interface OpenRun {
  readonly key: RunKey
  readonly input: CheckedInput
  readonly folder: Folder
  readonly journal: Journal
  /** The fold over what is durable. */
  readonly projection: RunProjection
  readonly publisher: Publisher
  readonly controls: RunControls
  readonly ledger: Ledger
  readonly hooks: RunHooks
  /** Where the answer must have a form. */
  readonly output?: OutputCheck
  /** The limit that the run came to, once it has. */
  limit?: LonghaulError
  /** Set once no other turn was begun because the run is released. */
  released?: true
  /** Every durable record, where the run will be released. */
  readonly history?: readonly RunRecord[]
  /** The question that the run has to wait for, once there is one. */
  asked?: RecordBody & { readonly type: "approval-request" }
  /** From the inbox, and not yet heard by the model. */
  readonly pendingSteers: { readonly text: string; readonly inbox: number }[]
  /** Tells listeners, if there are any, once every record before it is durable. */
  show(event: Ephemeral): void
}

/** How a run comes into our hands: as a new one, or as one that goes on. */
export interface Opening extends Pick<TakeOptions, "fresh" | "after" | "known" | "abandoned"> {
  readonly input: CheckedInput
  /** There was no such run before. */
  readonly isNew: boolean
  readonly entering: Entering
  /** The fold over what is `known`. */
  readonly folded?: RunProjection
  /** Of a run that goes on: nobody else can still be at what its last owner began. */
  readonly ownerStopped?: boolean
  /** What the model is told before it goes on. */
  readonly message?: string
  /** Chooses the receiver of a background run's webhook. */
  webhookOf?(history: RunProjection): RecordedWebhook | undefined
  /** The first records of the new owner. `history`: the fold over what was there; of a new run, nothing. */
  first(history: RunProjection): readonly RecordBody[]
}

export async function openRun(
  config: ResolvedConfig,
  key: RunKey,
  opening: Opening,
  publisher: Publisher,
  controls: RunControls,
  shared: Ledger | undefined,
): Promise<OpenRun> {
  const { input } = opening
  const folder = config.store.folder(runPath(key))
  const projection = opening.folded ?? new RunProjection()
  // Only a run that will be released is worth its memory: it can be resumed here without being read again.
  const kept: RunRecord[] | undefined = input.slice && []
  const apply = (records: readonly RunRecord[]) => {
    for (const record of records) projection.apply(record)
  }
  await config.store.check?.()
  const { entered } = await enterIndex(config, key, opening.entering)
  const journal = await takeRun(folder, {
    entered,
    first(history) {
      apply(history.slice(projection.nextSeq))
      for (const record of history) kept?.push(record)
      const webhook = opening.webhookOf?.(projection)
      const first = opening.first(projection)
      return webhook ? first.map((record) => withReceiver(record, webhook)) : first
    },
    acknowledged(records) {
      apply(records)
      kept?.push(...records)
      publisher.records(records)
    },
    failed: (error) => controls.lose(error),
    ...(opening.abandoned && { abandoned: opening.abandoned }),
    ...(opening.fresh && { fresh: true }),
    ...(opening.after !== undefined && { after: opening.after }),
    ...(opening.known && { known: opening.known }),
    ...(config.owner && { owner: config.owner }),
  })
  const { form, model } = input
  const { runId, nodeId } = key
  return {
    key,
    input,
    folder,
    journal,
    projection,
    publisher,
    controls,
    ledger: shared ?? new Ledger(input.limits, projection.spent),
    hooks: new RunHooks(config.hooks, { runId, nodeId, signal: controls.signal }, (slot, kind) => {
      journal.append({ type: "warning", code: "hook_failed", message: `The hook ${slot} failed (${kind}).` })
    }),
    pendingSteers: [],
    ...(kept && { history: kept }),
    ...(form && { output: new OutputCheck(form, model?.enforcesSchema === true) }),
    show(event) {
      if (!publisher.hasDeltas) return
      publisher.ephemeral(event, journal.newestPending)
      journal.flushSoon()
    },
  }
}

/** The beginning names who is notified of the next pause and end. */
function withReceiver(record: RecordBody, webhook: RecordedWebhook): RecordBody {
  return record.type === "run-start" || record.type === "run-resume" ? { ...record, webhook } : record
}

/** A run that there was not before. `after`: behind shards that somebody made and never began with. */
export function newRun(config: ResolvedConfig, key: RunKey, input: CheckedInput, after?: number): Opening {
  const place = after === undefined ? { fresh: true } : { after }
  const entering = { startedAt: Date.now() }
  return { input, isNew: true, entering, ...place, first: () => [runStart(config, key, input, entering)] }
}

/** With the time that its entry in the index has. */
function runStart(
  config: ResolvedConfig,
  { runId, nodeId }: RunKey,
  input: CheckedInput,
  { startedAt }: Entering,
): RecordBody & Pick<RunRecord, "at"> {
  const { messages, system, model, recordedCwd, settings, form, metadata, limits } = input
  return {
    type: "run-start",
    at: startedAt,
    runId,
    nodeId,
    input: {
      messages,
      ...(system !== undefined && { system }),
      ...(model && { model: `${model.provider}:${model.id}` }),
      backend: config.backend.name,
      ...(config.workspace !== "." && { workspace: config.workspace }),
      cwd: recordedCwd,
      ...settings,
      ...(form && { outputSchema: form.schema, ...(form.mode !== "strict" && { outputMode: form.mode }) }),
      ...(input.unknownOutcome !== "tell" && { unknownOutcome: input.unknownOutcome }),
      ...(metadata && { metadata }),
    },
    ...(input.before && { continues: input.before.nodeId }),
    tools: input.dispatcher.listTools().map((tool) => ({ name: tool.name, digest: toolDigest(config, tool) })),
    limits,
  }
}

/** Tells whether a tool is still what it was when a run began. Specs are frozen, so each is hashed once. */
export function toolDigest(config: ResolvedConfig, spec: ToolSpec): string {
  let digest = digests.get(spec)
  if (digest === undefined) {
    digest = config.digest(canonicalJson([spec.name, spec.description, spec.inputSchema]))
    digests.set(spec, digest)
  }
  return digest
}

const digests = new WeakMap<ToolSpec, string>()
