import type { RunEvent, RunRecord } from "../contract/event.ts"
import type { RunState } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import { agentKey, runPath } from "../journal/paths.ts"
import { published } from "../journal/published.ts"
import { createReader } from "../journal/reader.ts"
import { delay, orAborted } from "../lib/abort.ts"
import { isVoidTake } from "../runs/read-runs.ts"
import { SharedReader } from "../runs/shared-reader.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import type { LiveRun, LiveRuns } from "./live-runs.ts"

export interface FollowOptions {
  readonly agents?: boolean
  readonly after?: number
  readonly follow?: boolean
  readonly deltas?: boolean
  readonly signal?: AbortSignal
}

export interface WaitOptions {
  readonly timeoutMs?: number
  readonly pollIntervalMs?: number
}

/**
 * Follows runs and waits for them. A run of this process publishes its own events; all followers of any other run share one
 * incremental reader.
 */
export class Followers {
  readonly #config: ResolvedConfig
  readonly #live: LiveRuns
  readonly #readers = new Map<string, SharedReader>()

  constructor(config: ResolvedConfig, live: LiveRuns) {
    this.#config = config
    this.#live = live
  }

  /** Yields ephemeral events only with `deltas`, and those of working agents only with `agents`, from a run of this process. */
  async *events(key: RunKey, options: FollowOptions): AsyncGenerator<RunEvent> {
    const { after = -1, follow = false, deltas = false, agents = false, signal } = options
    let next = after + 1
    const live = follow ? this.#live.find(key) : undefined
    const history = () => (agents ? this.#withAgents(key) : this.#history(key))
    const events = live ? this.#liveEvents(live, deltas, signal) : follow ? [] : await history()
    for await (const event of events) {
      if (event.agent !== undefined) {
        if (agents) yield event
        continue
      }
      if ("seq" in event && event.seq < next) continue
      if ("seq" in event) next = event.seq + 1
      yield event
    }
    if (!follow || signal?.aborted || (live && !(await wasLost(live)))) return
    yield* this.#follow(key, next, signal)
  }

  /** Resolves when a run has ended or paused, or does not exist; after `timeoutMs` with its state at that time. */
  async wait(
    key: RunKey,
    status: () => Promise<RunState>,
    { timeoutMs = Number.POSITIVE_INFINITY, pollIntervalMs = 500 }: WaitOptions,
  ): Promise<RunState> {
    const deadline = performance.now() + timeoutMs
    const live = this.#live.find(key)
    if (live) await atMost(live.handle.result, timeoutMs)
    const state = await status()
    if (hasStopped(state)) return state
    const reader = this.#join(key)
    try {
      for (;;) {
        const leftMs = deadline - performance.now()
        if (leftMs <= 0) return await status()
        await reader.readWithin(Math.min(pollIntervalMs, leftMs))
        const now = reader.isRunning ? undefined : await status()
        if (now && hasStopped(now)) return now
      }
    } finally {
      this.#leave(key, reader)
    }
  }

  async *#follow(key: RunKey, next: number, signal: AbortSignal | undefined): AsyncGenerator<RunRecord> {
    const pollMs = this.#config.store.folder(runPath(key)).append ? FOLLOW_MS : SLOW_FOLLOW_MS
    const reader = this.#join(key)
    const place = reader.enter(next)
    try {
      await reader.read()
      for (;;) {
        // The shared reader drops records that all its current followers have read.
        const records = place.next < reader.firstKept ? await this.#history(key) : reader.recordsFrom(place.next)
        for (const record of records) {
          if (record.seq < place.next) continue
          place.next = record.seq + 1
          yield published(record)
        }
        if (signal?.aborted) return
        if (place.next < reader.nextSeq && !reader.removed) continue
        if (reader.nextSeq === 0 || reader.removed || reader.hasEnded) return
        await orAborted(reader.readWithin(pollMs), signal)
      }
    } finally {
      reader.exit(place)
      this.#leave(key, reader)
    }
  }

  /** The records of a run or an agent, those of each agent below it after its first start. */
  async #withAgents(key: RunKey): Promise<readonly RunRecord[]> {
    const { agent } = key
    const records: RunRecord[] = []
    const started = new Set<string>()
    for (const record of await this.#history(key)) {
      records.push(agent === undefined ? record : { ...record, agent })
      if (record.type !== "agent-start" || started.has(record.agentId)) continue
      started.add(record.agentId)
      records.push(...(await this.#withAgents(agentKey(key, record.agentId))))
    }
    return records
  }

  /** Yields the recorded events, then the events that the run publishes. */
  async *#liveEvents(live: LiveRun, deltas: boolean, signal: AbortSignal | undefined): AsyncGenerator<RunEvent> {
    const events = live.subscribe({ deltas, signal })
    const history = await this.#history(live.key)
    const last = history.at(-1)?.seq ?? -1
    yield* history
    // Deltas that were buffered before a record already read from the journal are outdated.
    const buffered = events.takeBuffered()
    yield* buffered.slice(buffered.findLastIndex((event) => isRecordUpTo(event, last)) + 1)
    yield* events
  }

  /** The records so far, without those that a takeover could still discard. */
  async #history(key: RunKey): Promise<readonly RunRecord[]> {
    const folder = this.#config.store.folder(runPath(key))
    const records = await createReader(folder, isVoidTake(this.#config, key)).next()
    return records.some(({ type }) => type === "run-remove") ? [] : records.map(published)
  }

  #join(key: RunKey): SharedReader {
    const path = runPath(key)
    const reader =
      this.#readers.get(path) ?? new SharedReader(this.#config.store.folder(path), isVoidTake(this.#config, key))
    reader.users++
    this.#readers.set(path, reader)
    return reader
  }

  #leave(key: RunKey, reader: SharedReader): void {
    if (--reader.users > 0) return
    reader.close()
    this.#readers.delete(runPath(key))
  }
}

function isRecordUpTo(event: RunEvent, last: number): boolean {
  return event.agent === undefined && "seq" in event && event.seq <= last
}

function hasStopped({ status }: RunState): boolean {
  return status !== "running" && status !== "queued"
}

/** True if another process may own the run now and append to it. */
async function wasLost({ handle }: LiveRun): Promise<boolean> {
  const { error } = await handle.result
  return error?.code === "fenced" || error?.code === "storage" || error?.code === "run_active"
}

async function atMost(work: Promise<unknown>, ms: number): Promise<void> {
  if (ms === Number.POSITIVE_INFINITY) {
    await work
    return
  }
  const done = new AbortController()
  await Promise.race([work, delay(ms, done.signal)])
  done.abort()
}

const FOLLOW_MS = 250
const SLOW_FOLLOW_MS = 2000
