import { LonghaulError } from "../contract/error.ts"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import { AppendWriter } from "./append-writer.ts"
import { Batch } from "./batch.ts"
import { CreateWriter } from "./create-writer.ts"
import { type FlushWriter, fenced, isFenced, Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import { findHead, findTop, type Head, historyOf, type KnownRow } from "./row.ts"
import type { KnownShard, Position } from "./shard.ts"

/** A run's journal in the hands of its owner. */
export interface Journal {
  /** The highest shard this owner created. */
  readonly shard: number
  /** The highest shard with a header, as far as it was acknowledged. */
  readonly head: KnownShard
  /** The newest record that is not durable yet, or -1. */
  readonly newestPending: number
  /**
   * Numbers a record and lets it ride with the next flush, on append stores at most 250 ms later. Throws `internal` where
   * it cannot be written as JSON: the journal is then as if it had not been given.
   */
  append(body: RecordBody): RunRecord
  /**
   * Everything appended so far is durable and was acknowledged, and the run was ours a moment ago: who waited for it may
   * act. Rejects with `fenced` once somebody else owns the run, for good; with `storage` where it could not be written, in
   * which case the same records are tried again next time.
   */
  flush(): Promise<void>
  /** Starts a flush that nobody waits for. */
  flushSoon(): void
  /** Ends the ownership: flushes, then writes nothing more. */
  release(): Promise<void>
}

export interface TakeOptions {
  /** Refuses with `run_active` where the row has a shard already, instead of fencing its owner. */
  readonly fresh?: boolean
  /** The row's highest shard as it was when the take was decided on: whoever took the run since then keeps it. */
  readonly after?: number
  /** What was read of the row before: of its head only what is new is read again. */
  readonly known?: KnownRow
  /** What the run held counts no more: the new shard stands on nothing. */
  readonly afresh?: boolean
  readonly owner?: JsonObject
  readonly now?: () => number
  /**
   * What the new owner says first, decided on the history it found. Goes with the header in one flush. A record that has a time
   * keeps it.
   */
  first(history: readonly RunRecord[]): readonly RecordBody[]
  /** The first records are acknowledged no sooner than this resolves. */
  readonly entered?: Promise<void>
  /** Hears records once they are durable, in order. */
  readonly acknowledged?: (records: readonly RunRecord[]) => void
  /** Hears of a take that failed after it had made a shard, which this process will never write again. */
  readonly abandoned?: (shard: number) => void
  /** Hears why a flush failed that nobody waited for. */
  readonly failed?: (error: unknown) => void
}

/**
 * Makes the caller the run's owner: the create of the next shard fences everybody else. Rejects with `fenced` where
 * another process was faster.
 */
export async function takeRun(folder: Folder, options: TakeOptions): Promise<Journal> {
  const top = options.fresh ? -1 : (options.after ?? (await findTop(folder)))
  const ownership = new Ownership(options.owner)
  const append = folder.append
  const file = append ? await append.open(shardName(top + 1), ownership.claim) : undefined
  if (file === null) throw options.fresh ? runExists() : fenced()
  let owned: OwnedJournal | undefined
  try {
    // From here on everything rests on what is read now, after the create: nothing decided earlier may count.
    const { known } = options
    const head = options.afresh ? null : await findHead(folder, top, known?.head)
    const history = head ? await historyOf(folder, head, known) : []
    const base = head && { shard: head.shard, bytes: head.scanned.validBytes }
    owned = new OwnedJournal(folder, options, writerFor(folder, ownership, file, top, base), history.length)
    if (head && head.droppedBytes > 0) owned.append(tailDropped(head))
    for (const body of options.first(history)) owned.append(body)
    await owned.flush()
    return owned
  } catch (error) {
    // Closed once, by whoever has it: the number of a descriptor may be somebody else's by the second time.
    await (owned ? owned.abandon() : file?.close().catch(() => {}))
    if (file) options.abandoned?.(owned?.shard ?? top + 1)
    throw options.fresh && isFenced(error) ? runExists() : error
  }
}

function writerFor(
  folder: Folder,
  ownership: Ownership,
  file: AppendFile | undefined,
  top: number,
  base: Position | null,
): FlushWriter {
  return file
    ? new AppendWriter(folder, ownership, file, top + 1, base)
    : new CreateWriter(folder, ownership, top, base)
}

class OwnedJournal implements Journal {
  readonly #folder: Folder
  readonly #options: TakeOptions
  readonly #now: () => number
  readonly #writer: FlushWriter
  #nextSeq: number
  /** Appended since the last flush began. */
  #queued = new Batch()
  /** Of the flush under way or of one that failed, which is tried again unchanged until its fate is known; empty otherwise. */
  #flushed = new Batch()
  #flushing = false
  #flushTimer: ReturnType<typeof setTimeout> | undefined
  #lost: LonghaulError | null = null
  #released = false
  /** Until the first flush is acknowledged. */
  #entered: Promise<void> | undefined

  constructor(folder: Folder, options: TakeOptions, writer: FlushWriter, nextSeq: number) {
    this.#folder = folder
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#writer = writer
    this.#nextSeq = nextSeq
    this.#entered = options.entered
  }

  get shard(): number {
    return this.#writer.top
  }

  get head(): KnownShard {
    return this.#writer.head
  }

  get newestPending(): number {
    return this.#newest.isEmpty ? -1 : this.#nextSeq - 1
  }

  /** That holds the newest record, if any waits. */
  get #newest(): Batch {
    return this.#queued.isEmpty ? this.#flushed : this.#queued
  }

  append(body: RecordBody): RunRecord {
    const record: RunRecord = { seq: this.#nextSeq, at: this.#now(), ...body }
    const isFirst = this.#queued.isEmpty
    // A record that cannot be written takes no number.
    this.#queued.add(record)
    this.#nextSeq++
    if (isFirst && this.#folder.append) void resolved.then(this.#scheduleFlush)
    return record
  }

  flush(): Promise<void> {
    if (this.#lost || this.#released) return Promise.reject(this.#lost ?? fenced())
    const newest = this.#newest
    if (newest.isEmpty) return resolved
    this.#begin()
    return newest.durable
  }

  flushSoon(): void {
    const newest = this.#newest
    if (this.#lost || this.#released) this.#options.failed?.(this.#lost ?? fenced())
    else if (!newest.isEmpty) {
      this.#begin()
      newest.isWanted = true
    }
  }

  async release(): Promise<void> {
    try {
      const flushed = this.flush()
      this.#released = true
      await flushed
    } finally {
      await this.abandon()
    }
  }

  /** Writes nothing more, whatever still rides. */
  async abandon(): Promise<void> {
    this.#released = true
    clearTimeout(this.#flushTimer)
    await this.#writer.close()
  }

  /** Most of what is appended is flushed in the same tick, and needs no timer. */
  readonly #scheduleFlush = (): void => {
    if (this.#queued.isEmpty || this.#queued.isWanted || this.#lost || this.#released) return
    this.#flushTimer ??= setTimeout(this.#flushLate, LONGEST_QUEUED_MS)
  }

  readonly #flushLate = (): void => {
    this.#flushTimer = undefined
    this.flush().catch(() => {})
  }

  /** What is appended in the same tick goes into the same flush. Node's own microtasks cost several times a promise's. */
  #begin(): void {
    if (this.#flushing) return
    this.#flushing = true
    void resolved.then(this.#drain)
  }

  /** One flush in flight; whatever waits meanwhile goes together in the next. Functions made once: many runs flush often. */
  readonly #drain = (): void => {
    if (this.#flushed.isEmpty) [this.#flushed, this.#queued] = [this.#queued, this.#flushed]
    const written = this.#writer.write(this.#flushed.lines)
    // Beside the write, not before it: both only have to be durable before anything is acknowledged.
    const acknowledged = this.#entered ? Promise.all([written, this.#entered]) : written
    acknowledged.then(this.#written).catch(this.#failed)
  }

  readonly #written = (): void | Promise<void> => {
    this.#entered = undefined
    const { waitedMs } = this.#flushed
    const records = this.#flushed.take()
    this.#options.acknowledged?.(records)
    // So long that a takeover may have begun, and somebody waits who is about to act.
    if (waitedMs >= LEASE_MS / 2) return this.#lookAgain()
    this.#finishFlush()
  }

  async #lookAgain(): Promise<void> {
    if (await this.#folder.exists(shardName(this.#writer.top + 1))) throw fenced()
    this.#finishFlush()
  }

  #finishFlush(): void {
    this.#flushed.resolve()
    if (this.#queued.isWanted) this.#drain()
    else this.#flushing = false
  }

  readonly #failed = async (error: unknown): Promise<void> => {
    if (isFenced(error)) await this.#lose(error)
    this.#flushing = false
    const isDelivered = [this.#flushed.reject(error), this.#queued.reject(error)]
    if (isDelivered.includes(false)) this.#options.failed?.(error)
  }

  async #lose(error: LonghaulError): Promise<void> {
    this.#lost ??= error
    clearTimeout(this.#flushTimer)
    await this.#writer.close()
  }
}

export function runExists(): LonghaulError {
  return new LonghaulError("run_active", "A run with this id exists already.", {
    retryable: false,
    fix: "Choose another runId, or leave it out to get a new one.",
  })
}

function tailDropped(head: Head): RecordBody {
  const message = `${head.droppedBytes} bytes of an unfinished write behind ${shardName(head.shard)} were dropped.`
  return { type: "warning", code: "journal_tail_dropped", message }
}

const resolved = Promise.resolve()

/** An owner that shows no sign for this long may be taken over. */
export const LEASE_MS = 60_000
/** On append stores a riding record is durable at most this much later. */
const LONGEST_QUEUED_MS = 250
