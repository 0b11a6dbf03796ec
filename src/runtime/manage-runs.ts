import { LonghaulError } from "../contract/error.ts"
import type { RecordBody, RunEvent } from "../contract/event.ts"
import type { RunReference } from "../contract/run.ts"
import type { RunState } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import { type InboxMessage, postMessage } from "../journal/inbox.ts"
import { type TakeOptions, takeRun } from "../journal/journal.ts"
import { isFenced } from "../journal/ownership.ts"
import { AGENTS, agentKey, runPath, shardName } from "../journal/paths.ts"
import { project, RunProjection } from "../journal/projection.ts"
import { published } from "../journal/published.ts"
import { flagUnknown } from "../journal/recover.ts"
import { contain } from "../lib/contained.ts"
import { isId, newNonce } from "../lib/id.ts"
import { tenantOf } from "../lib/tenant/run-keys.ts"
import { wasCancelled } from "../run/close-run.ts"
import { copyResults } from "../run/offload/copy-results.ts"
import { earlierExchanges, exchangesFrom, firstNode } from "../run/open/conversation.ts"
import { type OwnerWatch, stillActive } from "../runs/owner-watch.ts"
import { type FoundRun, inspectRun, loadRun, noSuchRun, stateOf } from "../runs/read-runs.ts"
import { enterReleased, enterRemoved, entriesOf, markTake } from "../runs/run-index.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"

/** Sends a message to a run that another process owns. Returns false if the run does not exist or has ended. */
export async function sendToRun(
  config: ResolvedConfig,
  key: RunKey,
  message: InboxMessage,
  watch: OwnerWatch,
): Promise<boolean> {
  const found = await inspectRun(config, key)
  if (found === null || isOver(found)) return false
  const stops = message.type === "cancel" || message.type === "interrupt"
  if (stops && (await watch.look(key, found)) !== "alive") return endRun(config, watch, key, found, wasCancelled)
  const text = message.type === "steer" && { text: config.redactorOf([], {}, key).text(message.text) }
  await postMessage(config.store.folder(runPath(key)), { ...message, ...text }, found.projection.nextInbox)
  // The run may have paused before it could read the message. Then no owner will apply it.
  const now = await inspectRun(config, key)
  if (!stops || now === null || now.projection.status !== "paused") return true
  return endRun(config, watch, key, now, wasCancelled)
}

/** Takes a run without a live owner and records its end. Returns false if another process took the run first. */
export function endRun(
  config: ResolvedConfig,
  watch: OwnerWatch,
  key: RunKey,
  found: FoundRun,
  end: RecordBody,
): Promise<boolean> {
  return takeOnce(config, watch, key, found, (history) => {
    const run = project(history)
    const { webhook } = run
    // An agent is not in doubt: it continues if the run is resumed.
    const flags = flagUnknown(run, ({ callId }) => run.agents.isFor(callId))
    return [{ type: "run-resume", cause: "recovery", ...(webhook && { webhook }) }, ...flags, end]
  })
}

/** Takes a run for one flush. Returns false if another process took it first. */
export async function takeOnce(
  config: ResolvedConfig,
  watch: OwnerWatch,
  key: RunKey,
  found: FoundRun,
  first: TakeOptions["first"],
): Promise<boolean> {
  const abandoned = (shard: number) => watch.abandon(key, shard)
  try {
    await writeOnce(config, key, found, { after: found.top, first, abandoned })
    return true
  } catch (error) {
    if (isFenced(error)) return false
    throw error
  }
}

/** Takes a new or existing run for one flush, and updates its index entry. */
async function writeOnce(
  config: ResolvedConfig,
  key: RunKey,
  found: FoundRun | undefined,
  options: TakeOptions,
): Promise<void> {
  await markTake(config, key, found)
  let projection = new RunProjection()
  const journal = await takeRun(config.store.folder(runPath(key)), {
    ...options,
    ...(config.owner && { owner: config.owner }),
    first(history) {
      projection = project(history)
      return options.first(history)
    },
    acknowledged(records) {
      for (const record of records) projection.apply(record)
    },
  })
  await journal.release()
  const { shard, head } = journal
  const owes = projection.hasWebhooks
  await enterReleased(config, key, {
    projection,
    shard,
    bytes: head.validBytes,
    owes,
    taken: found && found.top + 1,
  })
}

export const wasOrphaned: RecordBody = {
  type: "run-end",
  status: "failed",
  error: new LonghaulError("orphaned", "The run's process ended before the run did.", {
    fix: "Resume the run: it continues from its journal.",
  }).toJSON(),
}

/** Copies the first records of a run to a new id. A copied exchange starts a conversation of its own. */
export async function forkRun(
  config: ResolvedConfig,
  from: RunKey,
  at: number | undefined,
  newRunId: string,
): Promise<RunReference> {
  const found = await loadRun(config, from)
  if (found === null) throw noSuchRun(from)
  const { continues } = found.projection
  const to = { ...from, runId: newRunId, nodeId: continues === undefined ? from.nodeId : firstNode(from.nodeId) }
  // A copy is self-contained, so it includes the messages of the earlier exchanges.
  const before =
    continues === undefined ? [] : (await earlierExchanges(config, { ...from, nodeId: continues })).messages
  const tenant = await tenantOf(config.store, to.workspaceId)
  const last = at ?? found.records.length - 1
  if (!Number.isInteger(last) || last < 0 || last >= found.records.length) {
    throw new LonghaulError("config_invalid", `Run ${from.runId} has no record ${String(last)}.`, {
      fix: `Fork at one from 0 to ${found.records.length - 1}.`,
    })
  }
  const copied = found.records.slice(0, last + 1)
  // Before the records that name them, so that the fork keeps its results if the original is removed.
  const results = await copyResults(config.store.folder(runPath(from)), config.store.folder(runPath(to)), copied)
  await writeOnce(config, to, undefined, {
    fresh: true,
    first: () => [
      ...copied.map((record): RecordBody => {
        if (record.type === "tool-result") return { ...record, ...results.get(record) }
        // The fork is another run: a decision about the original must not be valid for it.
        if (record.type === "approval-request") return { ...record, ticket: newNonce() }
        if (record.type !== "run-start" && record.type !== "run-resume") return record
        // The copied events were delivered to the receiver of the original run.
        const { webhook: _, ...quiet } = record
        if (quiet.type !== "run-start") return quiet
        const { continues: __, ...start } = quiet
        const { runId, nodeId } = to
        const forkOf = { runId: from.runId, nodeId: from.nodeId, at: last }
        const input = { ...start.input, messages: [...before, ...start.input.messages] }
        return { ...start, runId, nodeId, tenant, input, forkOf }
      }),
      { type: "run-pause", reason: "fork" },
    ],
  })
  return { runId: to.runId, nodeId: to.nodeId }
}

/** Publishes every record again. Errors of the listener are contained. */
export async function replayRun(
  config: ResolvedConfig,
  key: RunKey,
  onEvent: (event: RunEvent) => void = () => {},
): Promise<RunState> {
  const found = await loadRun(config, key)
  if (found === null) throw noSuchRun(key)
  for (const record of found.records) contain(() => onEvent(published(record)))
  return stateOf(found)
}

/** Removes a run and the later exchanges of its conversation, which could not be read without it. */
export async function removeRun(config: ResolvedConfig, key: RunKey, watch: OwnerWatch): Promise<boolean> {
  const [, ...later] = await exchangesFrom(config, key)
  for (const nodeId of later.reverse()) await removeNode(config, { ...key, nodeId }, watch)
  return removeNode(config, key, watch)
}

/** Writes a tombstone as the top shard, so that no late write counts, and deletes everything below it. */
async function removeNode(config: ResolvedConfig, key: RunKey, watch: OwnerWatch): Promise<boolean> {
  const found = await inspectRun(config, key)
  if (found === null) return false
  if (key.agent === undefined && (await watch.look(key, found)) === "alive") throw stillActive(key)
  const { runId, nodeId, agent } = key
  const path = runPath(key)
  const folder = config.store.folder(path)
  const journal = await takeRun(folder, {
    after: found.top,
    afresh: true,
    ...(config.owner && { owner: config.owner }),
    first: () => [{ type: "run-remove", runId, nodeId }],
    abandoned: (shard) => watch.abandon(key, shard),
  })
  await journal.release()
  const tombstone = shardName(journal.shard)
  for (const name of await config.store.list(path)) {
    if (name === tombstone) continue
    const below = await config.store.list(`${path}/${name}`)
    if (name === AGENTS) {
      // An agent whose process has lost the run must not continue either.
      for (const agentId of below.filter(isId)) await removeNode(config, agentKey(key, agentId), watch)
      continue
    }
    for (const inner of below) await folder.delete(`${name}/${inner}`)
    if (below.length === 0) await folder.delete(name)
  }
  if (agent === undefined) await enterRemoved(config, key, entriesOf(key, found))
  return true
}

function isOver({ projection: { status } }: FoundRun): boolean {
  return status === "done" || status === "failed" || status === "cancelled"
}
