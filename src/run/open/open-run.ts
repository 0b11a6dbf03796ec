import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody, RunRecord } from "../../contract/event.ts"
import type { Model } from "../../contract/provider.ts"
import type { SessionRef } from "../../contract/session.ts"
import type { RunKey } from "../../contract/store.ts"
import type { RecordedWebhook } from "../../contract/webhook.ts"
import { runExists, takeRun } from "../../journal/journal.ts"
import { runPath } from "../../journal/paths.ts"
import { RunProjection } from "../../journal/projection.ts"
import { tenantOf } from "../../lib/tenant/run-keys.ts"
import { recordedPolicy } from "../../policy/policies.ts"
import { markTake } from "../../runs/run-index.ts"
import { type RunTarget, recordedTarget } from "../../settings/backends/targets.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { CheckedInput } from "../../settings/input/input.ts"
import { recordedAgents } from "../../settings/options/agents.ts"
import { recordedCheck } from "../../settings/options/output.ts"
import { RunHooks } from "../state/hooks.ts"
import { Ledger, type Spent } from "../state/ledger.ts"
import type { OpenRun, RunContext } from "../state/open-run.ts"
import type { Opening } from "../state/opening.ts"
import { rootTree } from "../state/root-tree.ts"
import { toolDigest } from "../state/tool-digest.ts"
import { type AgentsBelow, agentsBelow, none } from "./agents-below.ts"

export async function openRun(
  config: ResolvedConfig,
  key: RunKey,
  opening: Opening,
  { publisher, controls, position }: RunContext,
): Promise<{ readonly run: OpenRun; readonly opening: Opening }> {
  const folder = config.store.folder(runPath(key))
  let taken = opening
  let projection = opening.found?.projection ?? new RunProjection()
  // Records are kept only for a run that will be released, so that it can be resumed here without reading its journal.
  const kept: RunRecord[] | undefined = opening.input.slice && []
  let policy = await config.policyOf(opening.input.policies)
  await config.store.check?.()
  await markTake(config, key, opening.found)
  const journal = await takeRun(folder, {
    async first(history) {
      taken = await plannedFrom(opening, history)
      if (taken !== opening) policy = await config.policyOf(taken.input.policies)
      projection = taken.found?.projection ?? projection
      for (const record of history) kept?.push(record)
      const webhook = taken.webhookOf?.(projection)
      const first = taken.first(projection)
      return webhook ? first.map((record) => withReceiver(record, webhook)) : first
    },
    acknowledged(records) {
      for (const record of records) projection.apply(record)
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
  const { input } = taken
  const { chain, entry } = input
  const { runId, nodeId, agent } = key
  const target = chain[entry] ?? chain[0]
  const tenant = projection.tenant ?? (await tenantOf(config.store, key.workspaceId))
  const below = opening.isNew ? none : await agentsBelow(config, key, projection)
  const tree =
    "agent" in position
      ? position.agent
      : rootTree(position.services, input.agents ? input.agents.atOnce : 0, below.agents)
  const run: OpenRun = {
    config,
    key: { ...key, tenant: projection.tenant },
    tenant,
    input,
    folder,
    journal,
    projection,
    publisher,
    controls,
    ledger: new Ledger(input.limits, spentBy(projection, below), tree.parent?.ledger),
    tree,
    hooks: new RunHooks(
      config.hooks,
      { runId, nodeId, ...(agent && { agent }), signal: controls.signal },
      (slot, kind) => {
        journal.append({ type: "warning", code: "hook_failed", message: `The hook ${slot} failed (${kind}).` })
      },
    ),
    policy,
    redactor: config.redactorOf(withSummariser(input), input, key),
    target,
    left: opening.isNew ? sessionGiven(input, target) : sessionLeft(projection, target, input.cwd),
    openBefore: projection.openCalls.map(({ callId }) => callId),
    ...(kept && { history: kept }),
    show(event) {
      if (!publisher.hasDeltas) return
      publisher.ephemeral(event, journal.newestPending)
      journal.flushSoon()
    },
  }
  return { run, opening: taken }
}

/** The opening as planned, if the records are still those that it was planned from; else planned again from these. */
async function plannedFrom(opening: Opening, history: readonly RunRecord[]): Promise<Opening> {
  const before = opening.found?.records ?? []
  // The journal returns the same objects for records that were read before and still count.
  const isExtended = before.at(-1) === history[before.length - 1]
  if (isExtended && history.length === before.length) return opening
  if (!opening.again) throw runExists()
  return { ...opening, ...(await opening.again(history, isExtended)) }
}

function spentBy({ spent, turns }: RunProjection, below: AgentsBelow): Spent {
  return { tokens: spent.tokens + below.tokens, usd: spent.usd + below.usd, turns, turnsBelow: below.turns }
}

/** The model that writes summaries is called with credentials, too. */
function withSummariser({ chain, compaction }: CheckedInput): readonly { readonly model?: Model }[] {
  const { model } = compaction || {}
  return model ? [...chain, { model }] : chain
}

/**
 * The session to continue: of the same backend, in the same folder, and stored by it. Not that of the run which was forked. Not if it ended in the middle of a step
 * other than by a pause: then only the journal shows what happened.
 */
export function sessionLeft(run: RunProjection, { backend }: RunTarget, cwd: string): SessionRef | undefined {
  const { forkOf, resumedFrom, stepIsOpen } = run
  const { session, sessionAt } = run.route
  const isOwn = forkOf === undefined || sessionAt > forkOf.at
  const isSame = isOwn && session?.backend === backend.name && session.cwd === cwd && session.resumable
  const isClean = resumedFrom === "paused" || !stepIsOpen
  return isSame && isClean && backend.capabilities.resume === "session" ? session : undefined
}

/** The vendor's session that a new run continues. */
function sessionGiven({ providerSessionId: id, cwd }: CheckedInput, { backend }: RunTarget): SessionRef | undefined {
  if (id === undefined) return undefined
  if (backend.capabilities.resume === "session") return { backend: backend.name, version: "", id, cwd, resumable: true }
  throw new LonghaulError("capability_mismatch", `${backend.name} has no sessions of its own.`, {
    fix: "Remove providerSessionId, or name another backend.",
  })
}

/** Adds the webhook to a start or resume record. The webhook receives the next pause and end. */
function withReceiver(record: RecordBody, webhook: RecordedWebhook): RecordBody {
  return record.type === "run-start" || record.type === "run-resume" ? { ...record, webhook } : record
}

/** Opens a new run. `after`: the last of the shards that another process created and never used. */
export async function newRun(
  config: ResolvedConfig,
  key: RunKey,
  input: CheckedInput,
  after?: number,
): Promise<Opening> {
  const shard = after === undefined ? { fresh: true } : { after }
  // The keys of an agent begin like those of its run.
  const tenant = key.agent === undefined ? await tenantOf(config.store, key.workspaceId) : key.tenant
  return { input, isNew: true, ...shard, first: () => [runStart(config, { ...key, tenant }, input)] }
}

function runStart(config: ResolvedConfig, { runId, nodeId, tenant }: RunKey, input: CheckedInput): RecordBody {
  const { messages, system, chain, recordedCwd, settings, form, metadata, limits } = input
  return {
    type: "run-start",
    runId,
    nodeId,
    input: {
      messages,
      ...(system !== undefined && { system }),
      ...recordedTarget(chain[0]),
      ...(chain.length > 1 && { chain: chain.map(recordedEntry) }),
      ...(config.workspace !== "." && { workspace: config.workspace }),
      cwd: recordedCwd,
      ...settings,
      ...(form && {
        outputSchema: form.schema,
        ...(form.mode !== "strict" && { outputMode: form.mode }),
        ...recordedCheck(form),
      }),
      ...(input.unknownOutcome !== "tell" && { unknownOutcome: input.unknownOutcome }),
      ...recordedPolicy(input.policies[0]),
      ...(input.ownCompaction !== undefined && { compaction: input.ownCompaction }),
      ...(Object.keys(input.extensions.filter).length > 0 && { extensionTools: input.extensions.filter }),
      ...(input.agents && input.agentType === undefined && { agents: recordedAgents(input.agents) }),
      ...(input.agentType !== undefined && { agentType: input.agentType }),
      ...(metadata && { metadata }),
    },
    ...(input.before && { continues: input.before.nodeId }),
    tools: input.dispatcher.listTools().map((tool) => ({ name: tool.name, digest: toolDigest(config, tool) })),
    limits,
    ...(tenant !== undefined && { tenant }),
  }
}

function recordedEntry(target: RunTarget) {
  const { requires } = target
  return { ...recordedTarget(target), ...(requires.length > 0 && { requires }) }
}
