import { LonghaulError } from "../contract/error.ts"
import type { RunEvent } from "../contract/event.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunHandle, RunInput, StartedRun } from "../contract/run.ts"
import type { RunState } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import { onAbort } from "../lib/abort.ts"
import { type Shape, usable } from "../lib/schema/shape.ts"
import type { Semaphore } from "../lib/semaphore.ts"
import { executeRun } from "../run/execute-run.ts"
import { ReleasedRuns } from "../run/open/released-runs.ts"
import { RunMonitor } from "../run/state/monitor-runs.ts"
import type { OpenRun } from "../run/state/open-run.ts"
import type { Opening } from "../run/state/opening.ts"
import type { OwnerWatch } from "../runs/owner-watch.ts"
import { reportLoss } from "../runs/state-file.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { EventQueue } from "./event-queue.ts"
import { type StartedHandle, startRun } from "./handle.ts"
import type { WebhookSender } from "./webhooks/sender.ts"

/** A run of this process that is active or waits for a slot. */
export interface LiveRun {
  readonly key: RunKey
  readonly handle: RunHandle
  /** True while it waits for a slot of `concurrency`. */
  readonly queued: boolean
  /** Resolves once the run has started or failed to start. */
  readonly begun: Promise<void>
  /** Resolves when the run has ended and its webhook was delivered or has failed. Never rejects. */
  readonly delivered: Promise<void>
  /** Returns the events from now on, until the run ends or the signal aborts. */
  subscribe(options: { readonly deltas: boolean; readonly signal?: AbortSignal | undefined }): EventQueue<RunEvent>
}

type Watching = Pick<RunInput, "onEvent" | "onProgress" | "signal">

export interface LaunchOptions extends Watching {
  readonly streamed?: boolean
}

const watchingShape: Shape<Watching> = { onEvent: "function", onProgress: "function", signal: "signal" }

/** The active and queued runs of one runtime, by their key. */
export class LiveRuns {
  /** Runs that this process released and can resume without reading their journals. */
  readonly released = new ReleasedRuns()
  readonly #config: ResolvedConfig
  readonly #permits: Semaphore | undefined
  readonly #watch: OwnerWatch
  readonly #webhooks: WebhookSender
  /** Aborts when no new run may be launched. */
  readonly #refuse: AbortSignal
  /** Aborts when queued runs may not start either. */
  readonly #closing: AbortSignal
  readonly #monitor = new RunMonitor()
  /** Usually one run per key. A second one fails when it is opened, because the first one owns the run. */
  readonly #runs = new Map<string, LiveRun[]>()
  /** The newest ones. */
  readonly #lost = new Map<string, RunResult>()

  constructor(
    config: ResolvedConfig,
    permits: Semaphore | undefined,
    watch: OwnerWatch,
    webhooks: WebhookSender,
    { refuse, closing }: { readonly refuse: AbortSignal; readonly closing: AbortSignal },
  ) {
    this.#config = config
    this.#permits = permits
    this.#watch = watch
    this.#webhooks = webhooks
    this.#refuse = refuse
    this.#closing = closing
  }

  /** The result of a run that this process gave up without recording its end, if no other process has continued it. */
  lostResult(key: RunKey, { status, transcript }: RunState): RunResult | undefined {
    const lost = this.#lost.get(nameOf(key))
    return status === "running" && lost?.transcript.lastShard === transcript.lastShard ? lost : undefined
  }

  find(key: RunKey): LiveRun | undefined {
    return this.#runs.get(nameOf(key))?.[0]
  }

  launch(key: RunKey, opening: () => Promise<Opening>, options: LaunchOptions = {}): LiveRun {
    const { streamed = false } = options
    const { onEvent, onProgress, signal } = usable<Watching>(options, watchingShape)
    const isRefused = this.#refuse.aborted
    const permits = isRefused ? undefined : this.#permits
    const state = new LiveState(permits !== undefined && !permits.hasFree)
    const started = startRun(this.#config, key, () => this.#open(key, opening, isRefused), {
      streamed,
      services: { watch: this.#watch, monitor: this.#monitor, execute: executeRun },
      ...(onEvent && { onEvent }),
      ...(onProgress && { onProgress }),
      ...(signal && { signal }),
      takeSlot:
        permits &&
        (async (controls) => {
          const freeSlot = await permits.take(controls.halting)
          state.queued = false
          return freeSlot
        }),
      opened: (run) => this.#opened(run, state),
    })
    const run = liveRun(key, started, state, (result) => this.#remove(run, result))
    this.#runs.set(nameOf(key), [...(this.#runs.get(nameOf(key)) ?? []), run])
    return run
  }

  /** Waits until a run has started or is queued, and returns its state. If it failed to start, returns the error. */
  async report(run: LiveRun): Promise<StartedRun> {
    if (!run.queued) await run.begun
    const { runId, nodeId } = run.key
    if (this.#isLive(run)) return { runId, nodeId, status: run.queued ? "queued" : "running" }
    const { status, error } = await run.handle.result
    return { runId, nodeId, status, ...(error && { error }) }
  }

  /** `release`: lets every run finish its turn, then pauses it for another process. `cancel`: stops every run immediately. */
  async end(how: "release" | "cancel"): Promise<void> {
    const runs = [...this.#runs.values()].flat()
    if (how === "release") for (const { handle } of runs) handle.release()
    await Promise.all(runs.map(({ handle }) => (how === "release" ? handle.result : handle[Symbol.asyncDispose]())))
  }

  async #open(key: RunKey, opening: () => Promise<Opening>, isRefused: boolean): Promise<Opening> {
    if (isRefused || this.#closing.aborted) throw isClosed()
    return { ...(await opening()), abandoned: (shard) => this.#watch.abandon(key, shard) }
  }

  #opened(run: OpenRun, state: LiveState): () => Promise<void> {
    state.begin()
    const { key, projection, journal, controls, history } = run
    const stopMonitoring = this.#monitor.add(run)
    return async () => {
      await stopMonitoring()
      if (history && projection.pause?.reason === "released") {
        this.released.keep(key, { head: journal.head, records: history })
      }
      // The last record is the pause or the end that a webhook reports.
      state.delivery = this.#webhooks.ended(key, projection.nextSeq - 1)
      const { cause } = controls
      if (cause?.kind !== "lost" || cause.error.code === "fenced") return
      this.#watch.abandon(key, journal.shard)
      void reportLoss(run.folder, projection, journal.shard)
    }
  }

  #isLive(run: LiveRun): boolean {
    return this.#runs.get(nameOf(run.key))?.includes(run) === true
  }

  #remove(run: LiveRun, result: RunResult | undefined): void {
    const name = nameOf(run.key)
    this.#lost.delete(name)
    if (result?.status === "failed" && result.transcript.lastShard >= 0) this.#lost.set(name, result)
    const [oldest] = this.#lost.keys()
    if (this.#lost.size > MAX_LOST && oldest !== undefined) this.#lost.delete(oldest)
    const others = this.#runs.get(name)?.filter((other) => other !== run) ?? []
    if (others.length > 0) this.#runs.set(name, others)
    else this.#runs.delete(name)
  }
}

/** The mutable part of a live run. */
class LiveState {
  queued: boolean
  delivery: Promise<void> | undefined
  readonly begun: Promise<void>
  begin = () => {}

  constructor(queued: boolean) {
    this.queued = queued
    this.begun = new Promise((resolve) => {
      this.begin = resolve
    })
  }
}

const MAX_LOST = 1000

function liveRun(
  key: RunKey,
  { handle, subscribe }: StartedHandle,
  state: LiveState,
  over: (result?: RunResult) => void,
): LiveRun {
  const ended = (result?: RunResult) => {
    state.begin()
    over(result)
    return state.delivery
  }
  return {
    key,
    handle,
    get queued() {
      return state.queued
    },
    begun: state.begun,
    delivered: handle.result.then(ended, () => ended()).catch(() => {}),
    subscribe({ deltas, signal }) {
      const events = new EventQueue<RunEvent>()
      const unsubscribe = subscribe({ deltas, receive: (event) => events.push(event) })
      const close = () => {
        unsubscribe()
        unlink()
        events.close()
      }
      const unlink = onAbort(signal, close)
      handle.result.then(close, close)
      return events
    },
  }
}

/** Does not use `runPath`, which throws for an invalid key: that error is reported when the run is opened. */
function nameOf({ runId, nodeId }: RunKey): string {
  return `${runId}/${nodeId}`
}

function isClosed(): LonghaulError {
  return new LonghaulError("invalid_state", "The runtime is closed.", { fix: "Create another runtime." })
}
