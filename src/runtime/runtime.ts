import { LonghaulError } from "../contract/error.ts"
import type { Observer } from "../contract/observe.ts"
import type { Logger, RunHandle, RunReference, RuntimeConfig, StartedRun } from "../contract/run.ts"
import type { BackendStatus, RunState, Runtime, WaitOptions } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import type { InboxMessage } from "../journal/inbox.ts"
import { LEASE_MS } from "../journal/journal.ts"
import { factsWithout, failedToBegin } from "../journal/result.ts"
import { delay } from "../lib/abort.ts"
import { contain } from "../lib/contained.ts"
import { checkedId, newRunId } from "../lib/id.ts"
import { oneOf, wholeNumber } from "../lib/known-keys.ts"
import { checkArgument, usable } from "../lib/schema/shape.ts"
import { Semaphore } from "../lib/semaphore.ts"
import { listRuns } from "../runs/list-runs.ts"
import { OwnerWatch, stillActive } from "../runs/owner-watch.ts"
import { readRun } from "../runs/read-runs.ts"
import { type Defaults, type ResolvedConfig, resolveConfig } from "../settings/config/config.ts"
import { redactFailure } from "../settings/config/secrets.ts"
import { idShape } from "../settings/input/input.ts"
import { type MethodOnNode, methodOptions } from "../settings/input/method-options.ts"
import { schemaName } from "../settings/options/output.ts"
import { completeAbandonedTakes, type FoundOrphans, findOrphans, markOrphans } from "./background.ts"
import { Followers } from "./follow-runs.ts"
import { Launcher } from "./launch-runs.ts"
import { type LiveRun, LiveRuns } from "./live-runs.ts"
import { forkRun, removeRun, replayRun, sendToRun } from "./manage-runs.ts"
import { WebhookSender } from "./webhooks/sender.ts"

/** Creates a runtime from a configuration. Throws `config_invalid` for settings that cannot work. */
export function assembleRuntime(given: RuntimeConfig, defaults: Defaults): Runtime {
  const config = resolveConfig(given, defaults)
  const permits = defaults.permits ?? permitsOf(given)
  const parts = assembleParts(config, permits)
  const recovering =
    given.recover && recover(parts, { action: given.recover }).catch((error) => recoveryFailed(config, error))

  async function close(options?: Parameters<Runtime["close"]>[0]): Promise<void> {
    const { release = false } = methodOptions("close", options)
    parts.refuse.abort()
    if (release) await parts.live.end("release")
    parts.closing.abort()
    await recovering
    await parts.live.end("cancel")
    await parts.webhooks.close()
    await Promise.all(config.observers.map((observer) => flushed(observer, config.logger)))
    await defaults.close?.()
  }

  return {
    ...startMethods(parts),
    ...readMethods(parts),
    ...controlMethods(parts),
    ...backendMethods(config),
    recoverOrphanedRuns: (options) => recover(parts, options),
    with(overrides) {
      checkArgument("with", overrides, "object")
      return defaults.again(
        { ...given, store: config.store, ...overrides },
        isOwnLimit(overrides) ? undefined : permits,
      )
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

function permitsOf({ concurrency }: RuntimeConfig): Semaphore | undefined {
  return concurrency === undefined ? undefined : new Semaphore(wholeNumber("concurrency", concurrency))
}

function isOwnLimit(overrides: Partial<RuntimeConfig>): boolean {
  return Object.hasOwn(overrides, "concurrency")
}

/** The parts that the methods of a runtime share. */
interface Parts {
  readonly config: ResolvedConfig
  /** Aborts when no new run may be launched. */
  readonly refuse: AbortController
  /** Aborts when queued runs and waits must end. */
  readonly closing: AbortController
  readonly watch: OwnerWatch
  readonly webhooks: WebhookSender
  readonly live: LiveRuns
  readonly launcher: Launcher
  readonly followers: Followers
  /** Returns a validated key. */
  key(runId: string, nodeId?: string): RunKey
}

function assembleParts(config: ResolvedConfig, permits: Semaphore | undefined): Parts {
  const refuse = new AbortController()
  const closing = new AbortController()
  const watch = new OwnerWatch(config)
  const webhooks = new WebhookSender(config, closing.signal)
  const live = new LiveRuns(config, permits, watch, webhooks, { refuse: refuse.signal, closing: closing.signal })
  const launcher = new Launcher(config, live, watch, webhooks)
  const followers = new Followers(config, live)
  const key = (runId: string, nodeId = "main"): RunKey => ({
    workspaceId: config.workspaceId,
    runId: checkedId("runId", runId),
    nodeId: checkedId("nodeId", nodeId),
  })
  return { config, refuse, closing, watch, webhooks, live, launcher, followers, key }
}

type StartMethods =
  | "run"
  | "stream"
  | "resume"
  | "resumeStream"
  | "continue"
  | "continueStream"
  | "start"
  | "resumeAsync"

function startMethods(parts: Parts): Pick<Runtime, StartMethods> {
  const { config, launcher } = parts
  return {
    run: async (input: Parameters<Runtime["run"]>[0]) => typed(launcher.run(input, false)).result,
    stream: (input: Parameters<Runtime["stream"]>[0]) => typed(launcher.run(input, true)),
    resume: async (input: Parameters<Runtime["resume"]>[0]) => typed(launcher.resume(input)).result,
    resumeStream: (input) => launcher.resume(input, { streamed: true }).handle,
    async continue(runId, text, options) {
      try {
        return await (await launcher.continue(runId, text, options, false)).handle.result
      } catch (error) {
        if (!LonghaulError.is(error)) throw error
        const { nodeId = "main" } = usable<Partial<RunReference>>(options ?? {}, idShape)
        return failedToBegin({ workspaceId: config.workspaceId, runId, nodeId }, config.store.location, error)
      }
    },
    continueStream: async (runId, text, options) => (await launcher.continue(runId, text, options, true)).handle,
    start: async (input) => inBackground(parts, launcher.runInBackground(input)),
    async resumeAsync(given) {
      const { webhook, ...input } = given ?? {}
      return inBackground(
        parts,
        launcher.resume(input, { background: "asked", ...(webhook !== undefined && { webhook }) }),
      )
    },
  }
}

function typed({ handle }: LiveRun): RunHandle<never> {
  // Safe: `data` was checked against the schema that defines the caller's type.
  return handle as RunHandle<never>
}

function readMethods({ config, live, followers, key }: Parts) {
  async function status(runId: string, nodeId?: string): Promise<RunState> {
    const asked = key(runId, nodeId)
    if (!live.find(asked)?.queued) {
      const state = await readRun(config, asked)
      return live.find(asked) ? state : (live.lostResult(asked, state) ?? state)
    }
    return { ...factsWithout(asked, config.store.location), status: "queued", data: null }
  }
  return {
    status,
    async waitFor(runId: string, given?: WaitOptions): Promise<RunState<never>> {
      const { nodeId, outputSchema, ...options } = methodOptions("waitFor", given)
      const state = await followers.wait(key(runId, nodeId), () => status(runId, nodeId), options)
      if (outputSchema !== undefined) requireSchema(state, schemaName(outputSchema, config.schemas))
      // Safe: `data` was checked against the schema that the caller's type comes from.
      return state as RunState<never>
    },
    runs: async (filter) => listRuns(config, methodOptions("runs", filter)),
    // Safe: ephemeral events are included only with `deltas`.
    events: ((runId, given) => {
      const { nodeId, ...options } = methodOptions("events", given)
      return followers.events(key(runId, nodeId), options)
    }) as Runtime["events"],
    async replay(runId, options) {
      const { nodeId, onEvent } = methodOptions("replay", options)
      return replayRun(config, key(runId, nodeId), onEvent)
    },
  } satisfies Partial<Runtime>
}

/** A caller that passes a schema relies on its type. `name`: undefined if the schema is not registered. */
function requireSchema({ status, runId, outputSchema }: RunState, name: string | undefined): void {
  if (status !== "done" || (name !== undefined && outputSchema === name)) return
  const asked = name === undefined ? "an outputSchema that is not registered" : `the output schema ${name}`
  throw new LonghaulError("config_invalid", `Run ${runId} was waited for with ${asked}, and not checked by it.`, {
    fix:
      outputSchema === undefined
        ? "Start the run with a schema of createRuntime({ schemas })."
        : `Wait for it as ${outputSchema}.`,
  })
}

function controlMethods({ config, live, watch, webhooks, key }: Parts) {
  const named = (method: MethodOnNode, runId: string, options: { readonly nodeId?: string } | undefined) =>
    key(runId, methodOptions(method, options).nodeId)

  /** Uses the handle if the run is in this process, otherwise its inbox. */
  async function send(asked: RunKey, message: InboxMessage, direct: (handle: RunHandle) => boolean): Promise<boolean> {
    const run = live.find(asked)
    if (run) return direct(run.handle)
    const isSent = await sendToRun(config, asked, message, watch)
    // A run without a live owner was ended here, and its webhook must report that.
    if (isSent && (message.type === "cancel" || message.type === "interrupt")) webhooks.deliver(asked, "newest")
    return isSent
  }
  return {
    cancel: async (runId, options) =>
      send(named("cancel", runId, options), { type: "cancel" }, (handle) => handle.interrupt("immediate")),
    async interrupt(runId, mode = "graceful", options) {
      oneOf("mode", mode, ["graceful", "immediate"])
      return send(named("interrupt", runId, options), { type: "interrupt", mode }, (handle) => handle.interrupt(mode))
    },
    async steer(runId, text, options) {
      checkArgument("text", text, "text")
      return send(named("steer", runId, options), { type: "steer", text }, (handle) => handle.steer(text))
    },
    compact: async (runId, options) =>
      send(named("compact", runId, options), { type: "compact" }, (handle) => handle.compact()),
    async fork(runId, options) {
      const { nodeId, at, newRunId: to = newRunId() } = methodOptions("fork", options)
      return forkRun(config, key(runId, nodeId), at, checkedId("runId", to))
    },
    async remove(runId, options) {
      const asked = named("remove", runId, options)
      if (live.find(asked)) throw stillActive(asked)
      return removeRun(config, asked, watch)
    },
    webhookDeliveries: async (runId, options) => webhooks.deliveries(named("webhookDeliveries", runId, options)),
    retryWebhook: async (runId, options) => webhooks.again(named("retryWebhook", runId, options), options?.seq),
    deliverWebhooks: () => webhooks.deliverAll(),
  } satisfies Partial<Runtime>
}

function backendMethods({ backends, backendEnv, redactorOf }: ResolvedConfig) {
  const capabilities = async (name: string) => (await backends.find(name)).capabilities
  // A program prints what it likes, also its environment.
  const statusOf = async (name: string): Promise<BackendStatus> => {
    const { failure, version, ...probe } = await (await backends.find(name)).probe(backendEnv)
    const redactor = redactorOf()
    return {
      name,
      ...probe,
      ...(version !== undefined && { version: redactor.text(version) }),
      ...(failure && { failure: redactFailure(redactor, failure) }),
    }
  }
  return {
    capabilities,
    enforcement: async (name) => (await capabilities(name)).enforcement,
    backends: () => Promise.all(backends.names.map(statusOf)),
  } satisfies Partial<Runtime>
}

/** Reports the state of a background run, which the host keeps alive until its webhook was delivered. */
function inBackground({ config, live }: Parts, run: LiveRun): Promise<StartedRun> {
  contain(() => config.executor?.run(run.delivered))
  return live.report(run)
}

async function recover(
  parts: Parts,
  options?: Parameters<Runtime["recoverOrphanedRuns"]>[0],
): Promise<readonly RunReference[]> {
  const { config, watch, webhooks, live, closing } = parts
  const { staleMs = LEASE_MS, action = "mark" } = methodOptions("recoverOrphanedRuns", options)
  oneOf("action", action, ["mark", "resume"])
  // Delivery and recovery are independent: each reads its own remaining work.
  const pending = webhooks.deliverAll().catch((error) => recoveryFailed(config, error))
  const isOurs = (found: RunKey) => live.find(found) !== undefined
  const recovered: RunReference[] = []
  for await (const found of findOrphans(config, watch, isOurs, staleMs, closing.signal)) {
    await pending
    recovered.push(...(await (action === "mark" ? mark(parts, found) : resumeFound(parts, found))))
  }
  return recovered
}

/** Ends orphaned runs. Released ones wait for a process that resumes them. */
async function mark({ config, watch, webhooks }: Parts, found: FoundOrphans): Promise<readonly RunReference[]> {
  const hidden = [...found.abandonedTakes, ...found.released.filter(({ found: { taking } }) => taking !== undefined)]
  for (const key of await completeAbandonedTakes(config, watch, hidden)) webhooks.deliver(key, "all")
  const marked = await markOrphans(config, watch, found.orphans)
  for (const key of marked) webhooks.deliver(key, "newest")
  return marked.map(({ runId, nodeId }) => ({ runId, nodeId }))
}

/** Resumes orphaned and released runs in the background. */
async function resumeFound(parts: Parts, found: FoundOrphans): Promise<readonly RunReference[]> {
  const { config, watch, webhooks, launcher } = parts
  for (const key of await completeAbandonedTakes(config, watch, found.abandonedTakes)) webhooks.deliver(key, "all")
  const resumed = await Promise.all(
    [...found.orphans, ...found.released].map((orphan) => {
      const { runId, nodeId } = orphan.key
      return inBackground(parts, launcher.resume({ runId, nodeId }, { background: "recovered", orphan }))
    }),
  )
  return resumed.filter(({ error }) => error?.code !== "fenced")
}

function recoveryFailed({ logger }: ResolvedConfig, error: unknown): void {
  logger?.warn("The search for runs with a dead process failed.", {
    error: LonghaulError.is(error) ? error.code : "internal",
  })
}

/** Awaits an observer's `flush` with a time limit: an observer that fails or hangs must not block `close`. */
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

const FLUSH_MS = 5_000
