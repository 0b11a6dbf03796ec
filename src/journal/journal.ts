import { LonghaulError } from "../contract/error.ts"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import { AppendWriter } from "./append-writer.ts"
import { Batch } from "./batch.ts"
import { CreateWriter } from "./create-writer.ts"
import { type FlushWriter, fenced, isFenced, Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import { takeAbandoned } from "./recover.ts"
import { findHead, findTop, type Head, historyOf, type KnownRow } from "./row.ts"
import type { KnownShard, Position } from "./shard.ts"

/** The journal of a run, for its owner. */
export interface Journal {
  /** The highest shard this owner created. */
  readonly shard: number
  /** The acknowledged part of the highest shard with a header. */
  readonly head: KnownShard
  /** The newest record that is not durable yet, or -1. */
  readonly newestPending: number
  /**
   * Numbers a record and queues it for the next flush, which on append stores starts within 250 ms. Throws `internal`, and
   * changes nothing, if the record cannot be written as JSON.
   */
  append(body: RecordBody): RunRecord
  /**
   * Resolves when all records appended so far are durable and this process still owned the run, so that the caller may act.
   * Rejects with `fenced`, permanently, once another process owns the run; with `storage` if the write failed, in which case
   * the next flush tries the same records again.
   */
  flush(): Promise<void>
  /** Starts a flush without waiting for it. */
  flushSoon(): void
  /** Ends the ownership: flushes, then writes nothing else. */
  release(): Promise<void>
}

export interface TakeOptions {
  /** Rejects with `run_active` if the row already has a shard, instead of fencing its owner. */
  readonly fresh?: boolean
  /** The row's highest shard when the caller decided to take the run: a process that took it since then keeps it. */
  readonly after?: number
  /** The part of the row that was read before: only new bytes of its head are read. */
  readonly known?: KnownRow
  /** Discards all existing records: the new shard has no base. */
  readonly afresh?: boolean
  readonly owner?: JsonObject
  readonly now?: () => number
  /** Returns the first records of the new owner, based on the existing history. They share one flush with the header. */
  first(history: readonly RunRecord[]): readonly RecordBody[] | Promise<readonly RecordBody[]>
  /** Receives records once they are durable, in order. */
  readonly acknowledged?: (records: readonly RunRecord[]) => void
  /** Called if a take fails after it has created a shard, which this process will never write again. */
  readonly abandoned?: (shard: number) => void
  /** Receives the error of a failed flush that no caller waits for. */
  readonly failed?: (error: unknown) => void
}

/**
 * Makes the caller the owner of the run: creating the next shard fences every other process. Rejects with `fenced` if another
 * process took the run first.
 */
export async function takeRun(folder: Folder, options: TakeOptions): Promise<Journal> {
  const top = options.fresh ? -1 : (options.after ?? (await findTop(folder)))
  const ownership = new Ownership(options.owner)
  const append = folder.append
  const file = append ? await append.open(shardName(top + 1), ownership.claim) : undefined
  if (file === null) throw options.fresh ? runExists() : fenced()
  let owned: OwnedJournal | undefined
  try {
    // Only records read after the create count: the previous owner could write until then.
    const { known } = options
    const head = options.afresh ? null : await findHead(folder, top, known?.head)
    const history = head ? await historyOf(folder, head, known) : []
    const base = head && { shard: head.shard, bytes: head.scanned.validBytes }
    const writer = writerFor(folder, ownership, file, top, base)
    let first: readonly RecordBody[]
    try {
      first = await options.first(history)
    } catch (error) {
      // A shard without a header would hide the newest records from readers while this process lives.
      const { acknowledged: _, ...quiet } = options
      owned = new OwnedJournal(folder, quiet, writer, history.length)
      if (file && head) owned.append(takeAbandoned)
      await owned.release().catch(() => {})
      throw error
    }
    owned = new OwnedJournal(folder, options, writer, history.length)
    if (head && head.droppedBytes > 0) owned.append(tailDropped(head))
    for (const body of first) owned.append(body)
    await owned.flush()
    return owned
  } catch (error) {
    // The file must be closed only once: its descriptor number may be reused by then.
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
  /** Records appended since the last flush started. */
  #queued = new Batch()
  /** Records of the flush in progress or of a failed one, which is tried again unchanged until its outcome is known. */
  #flushed = new Batch()
  #flushing = false
  #flushTimer: ReturnType<typeof setTimeout> | undefined
  #lost: LonghaulError | null = null
  #released = false

  constructor(folder: Folder, options: TakeOptions, writer: FlushWriter, nextSeq: number) {
    this.#folder = folder
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#writer = writer
    this.#nextSeq = nextSeq
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

  /** The batch that contains the newest pending record. */
  get #newest(): Batch {
    return this.#queued.isEmpty ? this.#flushed : this.#queued
  }

  append(body: RecordBody): RunRecord {
    const record: RunRecord = { seq: this.#nextSeq, at: this.#now(), ...body }
    const isFirst = this.#queued.isEmpty
    // A record that cannot be written as JSON must not use up a number.
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

  /** Closes the journal and discards queued records. */
  async abandon(): Promise<void> {
    this.#released = true
    clearTimeout(this.#flushTimer)
    await this.#writer.close()
  }

  /** Most records are flushed in the tick in which they are appended, and need no timer. */
  readonly #scheduleFlush = (): void => {
    if (this.#queued.isEmpty || this.#queued.isWanted || this.#lost || this.#released) return
    this.#flushTimer ??= setTimeout(this.#flushLate, MAX_QUEUED_MS)
  }

  readonly #flushLate = (): void => {
    this.#flushTimer = undefined
    this.flush().catch(() => {})
  }

  /** Records appended in the same tick share a flush. A promise is several times cheaper than Node's `queueMicrotask`. */
  #begin(): void {
    if (this.#flushing) return
    this.#flushing = true
    void resolved.then(this.#drain)
  }

  /** One flush is in flight at a time; records queued in the meantime share the next. Callbacks are created once, for speed. */
  readonly #drain = (): void => {
    if (this.#flushed.isEmpty) [this.#flushed, this.#queued] = [this.#queued, this.#flushed]
    this.#writer.write(this.#flushed.lines).then(this.#written).catch(this.#failed)
  }

  readonly #written = (): void | Promise<void> => {
    const { waitedMs } = this.#flushed
    const records = this.#flushed.take()
    this.#options.acknowledged?.(records)
    // A takeover may have started during such a slow flush, and a waiting caller is about to act.
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
    fix: "Choose another runId, or omit it to get a new one.",
  })
}

function tailDropped(head: Head): RecordBody {
  const message = `${head.droppedBytes} bytes of an unfinished write at the end of ${shardName(head.shard)} were dropped.`
  return { type: "warning", code: "journal_tail_dropped", message }
}

const resolved = Promise.resolve()

/** The run of an owner without a sign of life for this long may be taken over. */
export const LEASE_MS = 60_000
/** On append stores the flush of a queued record starts after this time at the latest. */
const MAX_QUEUED_MS = 250
