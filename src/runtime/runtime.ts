import { LonghaulError } from "../contract/error.ts"
import type { Observer } from "../contract/observe.ts"
import type { Logger, RunHandle, RunReference, RuntimeConfig } from "../contract/run.ts"
import type { BackendStatus, RunState, Runtime, WaitOptions } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import type { InboxMessage } from "../journal/inbox.ts"
import { factsWithout, failedToBegin } from "../journal/result.ts"
import { delay } from "../lib/abort.ts"
import { checkedId, newRunId } from "../lib/id.ts"
import { oneOf, wholeNumber } from "../lib/known-keys.ts"
import { checkArgument, usable } from "../lib/schema/shape.ts"
import { Semaphore } from "../lib/semaphore.ts"
import { stillActive } from "../runs/owner-watch.ts"
import { readRun } from "../runs/read-runs.ts"
import { type Defaults, type ResolvedConfig, resolveConfig } from "../settings/config/config.ts"
import { redactFailure } from "../settings/config/secrets.ts"
import { idShape } from "../settings/input/input.ts"
import { type MethodOnNode, methodOptions } from "../settings/input/method-options.ts"
import { schemaName } from "../settings/options/output.ts"
import type { LiveRun } from "./live-runs.ts"
import { assembleParts, inBackground, type Parts } from "./parts.ts"

/** Creates a runtime from a configuration. Throws `config_invalid` for settings that cannot work. */
export function assembleRuntime(given: RuntimeConfig, defaults: Defaults): Runtime {
  const config = resolveConfig(given, defaults)
  const permits = defaults.permits ?? permitsOf(given)
  const parts = assembleParts(config, permits)
  const { recover } = given
  const recovering = recover && recovery().then(({ recoverAtStart }) => recoverAtStart(parts, recover))

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
    recoverOrphanedRuns: async (options) => (await recovery()).recover(parts, options),
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
      return inBackground(parts, launcher.resume(input, { background: "asked", webhook }))
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
    async runs(filter) {
      const options = methodOptions("runs", filter)
      return (await import("../runs/list-runs.ts")).listRuns(config, options)
    },
    // Safe: ephemeral events are included only with `deltas`.
    events: ((runId, given) => {
      const { nodeId, ...options } = methodOptions("events", given)
      return followers.events(key(runId, nodeId), options)
    }) as Runtime["events"],
    async replay(runId, options) {
      const { nodeId, onEvent } = methodOptions("replay", options)
      return (await managing()).replayRun(config, key(runId, nodeId), onEvent)
    },
  } satisfies Partial<Runtime>
}

/** A caller that passes a schema relies on its type. `name`: undefined if the schema is not registered. */
function requireSchema({ status, runId, outputSchema }: RunState, name: string | undefined): void {
  if (status !== "done" || (name !== undefined && outputSchema === name)) return
  const asked = name === undefined ? "an outputSchema that is not registered" : `the output schema ${name}`
  throw new LonghaulError("config_invalid", `waitFor got ${asked}, which did not check the answer of run ${runId}.`, {
    fix:
      outputSchema === undefined
        ? "Start the run with a schema of createRuntime({ schemas })."
        : `Pass the schema ${outputSchema} to waitFor.`,
  })
}

function controlMethods({ config, live, watch, webhooks, key }: Parts) {
  const named = (method: MethodOnNode, runId: string, options: { readonly nodeId?: string } | undefined) =>
    key(runId, methodOptions(method, options).nodeId)

  /** Uses the handle if the run is in this process, otherwise its inbox. */
  async function send(asked: RunKey, message: InboxMessage, direct: (handle: RunHandle) => boolean): Promise<boolean> {
    const run = live.find(asked)
    if (run) return direct(run.handle)
    const isSent = await (await managing()).sendToRun(config, asked, message, watch)
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
      const [from, given] = [key(runId, nodeId), checkedId("runId", to)]
      return (await managing()).forkRun(config, from, at, given)
    },
    async remove(runId, options) {
      const asked = named("remove", runId, options)
      if (live.find(asked)) throw stillActive(asked)
      return (await managing()).removeRun(config, asked, watch)
    },
    webhookDeliveries: async (runId, options) => webhooks.deliveries(named("webhookDeliveries", runId, options)),
    retryWebhook: async (runId, options) => webhooks.again(named("retryWebhook", runId, options), options?.seq),
    deliverWebhooks: () => webhooks.deliverAll(),
  } satisfies Partial<Runtime>
}

function backendMethods({ backends, backendEnv, redactorOf }: ResolvedConfig) {
  const capabilities = async (name: string) => (await backends.find(name)).capabilities
  // A program may print anything, even its environment.
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

/** Parts that many processes never use are loaded with their first use. */
const recovery = () => import("./recover.ts")
const managing = () => import("./manage-runs.ts")
