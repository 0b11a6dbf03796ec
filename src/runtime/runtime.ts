import { LonghaulError } from "../contract/error.ts"
import type { Observer } from "../contract/observe.ts"
import type {
  ContinueInput,
  Logger,
  ResumeInput,
  RunHandle,
  RunInput,
  RunState,
  Runtime,
  RuntimeConfig,
  StartedRun,
  UnfinishedRun,
} from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import type { WithWebhook } from "../contract/webhook.ts"
import type { InboxMessage } from "../journal/inbox.ts"
import { LEASE_MS } from "../journal/journal.ts"
import type { Taking } from "../journal/reader.ts"
import { factsWithout, failedToBegin } from "../journal/result.ts"
import { delay } from "../lib/abort.ts"
import { contain } from "../lib/contained.ts"
import { checkedId, newRunId } from "../lib/id.ts"
import { type Defaults, oneOf, resolveConfig, wholeNumber } from "./config.ts"
import { nextExchange } from "./continue-run.ts"
import type { RunControls } from "./controls.ts"
import { type StartOptions, startRun } from "./handle.ts"
import { runKey } from "./input/input.ts"
import { type MethodOnNode, methodOptions } from "./input/method-options.ts"
import type { Opening } from "./open-run.ts"
import { Permits } from "./permits.ts"
import { resumption } from "./resume-run.ts"
import { beginning, chosenRun } from "./run.ts"
import { findOrphans, markOrphans, type Orphan, settleHalfTaken, waitUntilSettled } from "./runs/background.ts"
import { listRuns } from "./runs/list-runs.ts"
import { forkRun, removeRun, replayRun, tellRun } from "./runs/manage-runs.ts"
import { OwnerWatch, stillActive } from "./runs/owner-watch.ts"
import { type FoundRun, readEvents, readRun } from "./runs/read-runs.ts"
import { Tender } from "./runs/tend-runs.ts"
import { WebhookSender } from "./webhooks/sender.ts"

type RecoverOptions = NonNullable<Parameters<Runtime["recoverOrphanedRuns"]>[0]>

/** What is known of a run of ours beside its handle. */
interface Place {
  queued: boolean
  /** It has begun, or never will. */
  begun: boolean
  /** Who waits for that. */
  onBegun?: () => void
  /** Delivery of its webhook, once its journal is closed. Never rejects. */
  delivery?: Promise<void>
  /** Settles when it is over and its webhook was delivered or given up. Never rejects. */
  told?: Promise<unknown>
}

/** A runtime over one configuration. Throws `config_invalid` at once for what cannot work. */
export function assembleRuntime(given: RuntimeConfig, defaults: Defaults): Runtime {
  const config = resolveConfig(given, defaults)
  const permits = given.concurrency && new Permits(wholeNumber("concurrency", given.concurrency))
  const live = new Map<RunHandle, Place>()
  const watch = new OwnerWatch(config)
  const tender = new Tender()
  const closing = new AbortController()
  const webhooks = new WebhookSender(config, closing.signal)

  function launch(
    key: RunKey,
    opening: () => Promise<Opening>,
    input: Pick<StartOptions, "onEvent" | "onProgress" | "signal"> | undefined,
    streamed = false,
  ): RunHandle<never> {
    const { onEvent, onProgress, signal } = input ?? {}
    const place: Place = { queued: permits ? !permits.hasFree : false, begun: false }
    const begin = () => {
      place.begun = true
      place.onBegun?.()
    }
    const open = () => (closing.signal.aborted ? Promise.reject(isClosed()) : opening())
    const turn = async (controls: RunControls) => {
      const leave = await (permits as Permits).take(controls.halting)
      place.queued = false
      return leave
    }
    const abandoned = (shard: number) => watch.giveUp(key, shard)
    const handle = startRun(config, key, async () => ({ ...(await open()), abandoned }), {
      streamed,
      ...(onEvent && { onEvent }),
      ...(onProgress && { onProgress }),
      ...(signal && { signal }),
      ...(permits && { turn }),
      opened(run) {
        begin()
        const leave = tender.tend(run)
        return async () => {
          await leave()
          // Its last record is the pause or the end that a webhook reports.
          place.delivery = webhooks.ended(key, run.projection.nextSeq - 1)
          const { cause } = run.controls
          if (cause?.kind === "lost" && cause.error.code === "storage") watch.giveUp(key, run.journal.shard)
        }
      },
    })
    live.set(handle, place)
    const over = () => {
      begin()
      live.delete(handle)
      return place.delivery
    }
    place.told = handle.result.then(over, over).catch(() => {})
    // Safe: what `data` is was checked against the schema from which the caller has its type.
    return handle as RunHandle<never>
  }

  const isAbandoned = (key: RunKey) => (top: number, taking: Taking) => watch.isAbandoned(key, top, taking)
  const launchNew = (input: RunInput, streamed: boolean) => {
    const key = runKey(config, input)
    return launch(key, () => beginning(config, key, input, isAbandoned(key)), input, streamed)
  }
  const launchNext = async (runId: string, text: string, given: ContinueInput | undefined, streamed: boolean) => {
    const options = given ?? {}
    const base = key(runId, options.nodeId)
    const next = await nextExchange(config, base, text, options, watch)
    const opening = async () => chosenRun(config, next.key, await next.input(), isAbandoned(next.key))
    return launch(next.key, opening, options, streamed)
  }
  const launchBackground = (given: RunInput & WithWebhook) => {
    const { webhook, ...input } = given ?? {}
    const key = runKey(config, input)
    const begin = () => beginning(config, key, input, isAbandoned(key))
    return launch(key, () => webhooks.open(key, begin, "asked", webhook), input)
  }
  const launchResumed = (
    input: ResumeInput,
    how: "foreground" | "asked" | "recovered",
    { orphan, webhook, streamed = false }: WithWebhook & { readonly orphan?: Orphan; readonly streamed?: boolean } = {},
  ) => {
    const { runId, nodeId = "main" } = input ?? {}
    const resumed: RunKey = { workspaceId: config.workspaceId, runId, nodeId }
    const look = async (found: FoundRun) => orphan?.owner ?? watch.look(resumed, found)
    const open = () => resumption(config, resumed, input, look, orphan?.found)
    const opening = how === "foreground" ? open : () => webhooks.open(resumed, open, how, webhook)
    return launch(resumed, opening, input, streamed)
  }

  /** What is known of it once it has begun, waits for its turn, or could not begin. */
  async function inBackground(handle: RunHandle): Promise<StartedRun> {
    const place = live.get(handle)
    const told = place?.told
    if (told) contain(() => config.executor?.run(told))
    if (place && !place.queued && !place.begun) {
      await new Promise<void>((resolve) => {
        place.onBegun = resolve
      })
    }
    const { runId, nodeId } = handle
    if (live.has(handle)) return { runId, nodeId, status: place?.queued ? "queued" : "running" }
    const { status, error } = await handle.result
    return { runId, nodeId, status, ...(error && { error }) }
  }

  const key = (runId: string, nodeId = "main"): RunKey => ({
    workspaceId: config.workspaceId,
    runId: checkedId("runId", runId),
    nodeId: checkedId("nodeId", nodeId),
  })
  const named = (method: MethodOnNode, runId: string, options: { readonly nodeId?: string } | undefined) =>
    key(runId, methodOptions(method, options).nodeId)
  const handleOf = ({ runId, nodeId }: RunKey) =>
    Array.from(live.keys()).find((handle) => handle.runId === runId && handle.nodeId === nodeId)

  async function status(runId: string, nodeId?: string): Promise<RunState> {
    const asked = key(runId, nodeId)
    const handle = handleOf(asked)
    if (handle && live.get(handle)?.queued) return queuedRun(asked)
    return readRun(config, asked)
  }

  const queuedRun = (asked: RunKey): UnfinishedRun => ({
    ...factsWithout(asked, config.store.location),
    status: "queued",
    data: null,
  })

  /** By hand where the run is ours, through its inbox where it is somebody else's. */
  async function tell(asked: RunKey, message: InboxMessage, byHand: (handle: RunHandle) => boolean): Promise<boolean> {
    const handle = handleOf(asked)
    if (handle) return byHand(handle)
    const told = await tellRun(config, asked, message, watch)
    // Where nobody was at the run any more, we have put its end on record.
    if (told && message.type !== "steer") webhooks.deliver(asked, "newest")
    return told
  }

  async function recoverOrphanedRuns(options?: RecoverOptions) {
    const { staleMs = LEASE_MS, action = "mark" } = methodOptions("recoverOrphanedRuns", options)
    oneOf("action", action, ["mark", "resume"])
    // Each finds out by itself what it has to do.
    const pending = webhooks.deliverAll().catch(recoveryFailed)
    const isOurs = (found: RunKey) => handleOf(found) !== undefined
    const { orphans, halfTaken } = await findOrphans(config, watch, isOurs, staleMs, closing.signal)
    await pending
    for (const found of await settleHalfTaken(config, watch, halfTaken)) webhooks.deliver(found, "all")
    if (action === "mark") {
      const marked = await markOrphans(config, watch, orphans)
      for (const { runId, nodeId } of marked) webhooks.deliver(key(runId, nodeId), "newest")
      return marked
    }
    const resumed = await Promise.all(
      orphans.map((orphan) => {
        const { runId, nodeId } = orphan.key
        return inBackground(launchResumed({ runId, nodeId }, "recovered", { orphan }))
      }),
    )
    return resumed.filter(({ error }) => error?.code !== "fenced")
  }

  async function close(): Promise<void> {
    closing.abort()
    await recovering
    await Promise.all(Array.from(live.keys(), (handle) => handle[Symbol.asyncDispose]()))
    await webhooks.close()
    await Promise.all(config.observers.map((observer) => flushed(observer, config.logger)))
    await defaults.close?.()
  }

  const recovering = given.recover && recoverOrphanedRuns({ action: given.recover }).catch(recoveryFailed)
  function recoveryFailed(error: unknown): void {
    config.logger?.warn("Runs that lost their process could not be looked for.", {
      error: LonghaulError.is(error) ? error.code : "internal",
    })
  }

  return {
    run: (input: RunInput) => launchNew(input, false).result,
    stream: (input: RunInput) => launchNew(input, true),
    resume: async (input: ResumeInput) => launchResumed(input, "foreground").result,
    resumeStream: (input) => launchResumed(input, "foreground", { streamed: true }),
    async continue(runId, text, options) {
      try {
        return (await launchNext(runId, text, options, false)).result
      } catch (error) {
        if (!LonghaulError.is(error)) throw error
        const { nodeId = "main" } = options ?? {}
        return failedToBegin({ workspaceId: config.workspaceId, runId, nodeId }, config.store.location, error)
      }
    },
    continueStream: (runId, text, options) => launchNext(runId, text, options, true),
    start: async (input) => inBackground(launchBackground(input)),
    async resumeAsync(given) {
      const { webhook, ...input } = given ?? {}
      return inBackground(launchResumed(input, "asked", webhook ? { webhook } : {}))
    },
    status,
    async waitFor(runId, given) {
      const { nodeId, ...options } = methodOptions("waitFor", given)
      const handle = handleOf(key(runId, nodeId))
      if (handle && options.timeoutMs === undefined) await handle.result
      return waitUntilSettled(() => status(runId, nodeId), options)
    },
    runs: async (filter) => listRuns(config, methodOptions("runs", filter)),
    events(runId, given) {
      const { nodeId, ...options } = methodOptions("events", given)
      return readEvents(config, key(runId, nodeId), options)
    },
    cancel: async (runId, options) =>
      tell(named("cancel", runId, options), { type: "cancel" }, (handle) => handle.interrupt("immediate")),
    async interrupt(runId, mode = "graceful", options) {
      oneOf("mode", mode, ["graceful", "immediate"])
      return tell(named("interrupt", runId, options), { type: "interrupt", mode }, (handle) => handle.interrupt(mode))
    },
    steer: async (runId, text, options) =>
      tell(named("steer", runId, options), { type: "steer", text }, (handle) => handle.steer(text)),
    async fork(runId, options) {
      const { nodeId, at, newRunId: to = newRunId() } = methodOptions("fork", options)
      return forkRun(config, key(runId, nodeId), at, checkedId("runId", to))
    },
    async replay(runId, options) {
      const { nodeId, onEvent } = methodOptions("replay", options)
      return replayRun(config, key(runId, nodeId), onEvent)
    },
    async remove(runId, options) {
      const asked = named("remove", runId, options)
      if (handleOf(asked)) throw stillActive(asked)
      return removeRun(config, asked, watch)
    },
    recoverOrphanedRuns,
    webhookDeliveries: async (runId, options) => webhooks.deliveries(named("webhookDeliveries", runId, options)),
    retryWebhook: async (runId, options) => webhooks.again(named("retryWebhook", runId, options), options?.seq),
    deliverWebhooks: () => webhooks.deliverAll(),
    with: (overrides) => defaults.again({ ...given, store: config.store, ...overrides }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Awaits an observer's `flush`, but not for ever: one that fails or hangs must not keep a runtime from closing. */
async function flushed(observer: Observer, logger: Logger | undefined): Promise<void> {
  const done = new AbortController()
  const failed = () => logger?.warn("An observer's flush failed.")
  const flushing = Promise.resolve()
    .then(() => observer.flush?.())
    .catch(failed)
    .finally(() => done.abort())
  await Promise.race([flushing, delay(FLUSH_MS, done.signal)])
  if (!done.signal.aborted) logger?.warn("An observer's flush did not return in time.")
}

function isClosed(): LonghaulError {
  return new LonghaulError("invalid_state", "The runtime is closed.", { fix: "Create another runtime." })
}

const FLUSH_MS = 5_000
