import { LonghaulError } from "../contract/error.ts"
import type { RecordBody, RunRecord } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import { equalBytes } from "../lib/bytes.ts"
import { newNonce } from "../lib/id.ts"
import { shardName } from "./paths.ts"
import { findHead, findTop, type Head, historyOf } from "./row.ts"
import { FlushEncoder, type Position, type ShardHeader } from "./shard.ts"
import { SCHEMA_VERSION } from "./upgrade.ts"

/** A run's journal in the hands of its owner. */
export interface Journal {
  /** The highest shard this owner created. */
  readonly shard: number
  /** The newest record that is not durable yet, or -1. */
  readonly newestPending: number
  /** Numbers a record and lets it ride with the next flush, on append stores at most 250 ms later. */
  append(body: RecordBody): RunRecord
  /**
   * Everything appended so far is durable and was acknowledged. Rejects with `fenced` once somebody else owns the run,
   * for good; with `storage` where it could not be written, in which case the same records are tried again next time.
   */
  flush(): Promise<void>
  /** A flush for somebody about to act: looks once more where it took so long that a takeover may have begun. */
  secure(): Promise<void>
  /** Ends the ownership: flushes, then writes nothing more. */
  release(): Promise<void>
}

export interface TakeOptions {
  /** Refuses with `run_active` where the row has a shard already, instead of fencing its owner. */
  readonly fresh?: boolean
  readonly owner?: JsonObject
  readonly now?: () => number
  /** What the new owner says first, decided on the history it found. Goes with the header in one flush. */
  first(history: readonly RunRecord[]): readonly RecordBody[]
  /** Hears records once they are durable, in order. */
  readonly acknowledged?: (records: readonly RunRecord[]) => void
}

/**
 * Makes the caller the run's owner: the create of the next shard fences everybody else. Rejects with `fenced` where
 * another process was faster.
 */
export async function takeRun(folder: Folder, options: TakeOptions): Promise<Journal> {
  const top = options.fresh ? -1 : await findTop(folder)
  const append = folder.append
  const file = append ? await append.open(shardName(top + 1)) : undefined
  if (file === null) throw options.fresh ? runExists() : fenced()
  const owned = new OwnedJournal(folder, options, append ? top + 1 : top, file ?? null)
  try {
    // From here on everything rests on what is read now, after the create: nothing decided earlier may count.
    const head = await findHead(folder, top)
    const history = head ? await historyOf(folder, head) : []
    owned.continueFrom(head && { shard: head.shard, bytes: head.scanned.validBytes }, history.length)
    if (head && head.droppedBytes > 0) owned.append(tailDropped(head))
    for (const body of options.first(history)) owned.append(body)
    await owned.flush()
    return owned
  } catch (error) {
    await owned.abandon()
    throw options.fresh && isFenced(error) ? runExists() : error
  }
}

interface Waiter {
  readonly upTo: number
  resolve(): void
  reject(error: unknown): void
}

class OwnedJournal implements Journal {
  readonly #folder: Folder
  readonly #options: TakeOptions
  readonly #now: () => number
  readonly #writer = newNonce()
  readonly #encoder = new FlushEncoder()
  /** Highest shard created by this owner (or below it, before a create-only owner's first flush). */
  #top: number
  /** End of the last acknowledged flush: the base of the next header. */
  #good: Position | null = null
  #nextSeq = 0
  /** Null: the next flush opens a shard. Always null on create-only stores. */
  #file: AppendFile | null
  /** The shard was created but holds no header yet. */
  #headless: boolean
  /** Not yet acknowledged, in order, with their lines. */
  #pending: RunRecord[] = []
  #lines: string[] = []
  /** On create-only stores: bytes once tried are tried again unchanged until their fate is known. */
  #batch: { readonly bytes: Uint8Array; readonly count: number } | null = null
  #waiters: Waiter[] = []
  #flushing = false
  #rideTimer: ReturnType<typeof setTimeout> | undefined
  #lost: LonghaulError | null = null
  #released = false

  constructor(folder: Folder, options: TakeOptions, top: number, file: AppendFile | null) {
    this.#folder = folder
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#top = top
    this.#file = file
    this.#headless = file !== null
  }

  continueFrom(base: Position | null, nextSeq: number): void {
    this.#good = base
    this.#nextSeq = nextSeq
  }

  get shard(): number {
    return this.#top
  }

  get newestPending(): number {
    return this.#pending.length === 0 ? -1 : this.#nextSeq - 1
  }

  append(body: RecordBody): RunRecord {
    const record: RunRecord = { seq: this.#nextSeq++, at: this.#now(), ...body }
    this.#pending.push(record)
    this.#lines.push(JSON.stringify(record))
    if (this.#folder.append && !this.#lost) this.#rideTimer ??= setTimeout(() => this.#rideOver(), RIDE_MS)
    return record
  }

  #rideOver(): void {
    this.#rideTimer = undefined
    this.flush().catch(() => {})
  }

  flush(): Promise<void> {
    if (this.#lost || this.#released) return Promise.reject(this.#lost ?? fenced())
    if (this.#pending.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#nextSeq, resolve, reject })
      if (this.#flushing) return
      this.#flushing = true
      // What is appended in the same tick goes into the same flush.
      queueMicrotask(() => this.#drain())
    })
  }

  async secure(): Promise<void> {
    const started = performance.now()
    await this.flush()
    if (performance.now() - started < LEASE_MS / 2) return
    if (await this.#folder.exists(shardName(this.#top + 1))) throw await this.#lose(fenced())
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
    await this.#lose(fenced())
  }

  /** One flush in flight; whatever waits meanwhile goes together in the next. */
  async #drain(): Promise<void> {
    try {
      while (this.#waiters.length > 0) {
        if (this.#lost) throw this.#lost
        const count = await (this.#folder.append ? this.#appendFlush() : this.#createFlush())
        const records = this.#pending.splice(0, count)
        this.#lines.splice(0, count)
        const acknowledged = (records.at(-1) as RunRecord).seq + 1
        this.#options.acknowledged?.(records)
        const waiting = this.#waiters
        this.#waiters = waiting.filter(({ upTo }) => upTo > acknowledged)
        for (const { upTo, resolve } of waiting) if (upTo <= acknowledged) resolve()
      }
    } catch (error) {
      if (isFenced(error)) await this.#lose(error)
      const waiters = this.#waiters
      this.#waiters = []
      for (const waiter of waiters) waiter.reject(error)
    } finally {
      this.#flushing = false
    }
  }

  /** Where a shard failed, one attempt with the next: we take the run from ourselves. */
  async #appendFlush(): Promise<number> {
    if (this.#file !== null) {
      try {
        return await this.#writeFlush(this.#file)
      } catch (error) {
        // Half a line may stand there, or a sync may have lied: this shard is never written again.
        await this.#closeFile()
        if (isFenced(error)) throw error
      }
    }
    const file = await this.#openNext()
    try {
      return await this.#writeFlush(file)
    } catch (error) {
      await this.#closeFile()
      throw error
    }
  }

  /** Append, sync, look: acknowledged only if nobody has created the next shard by then. */
  async #writeFlush(file: AppendFile): Promise<number> {
    const count = this.#pending.length
    const from = this.#headless ? 0 : (this.#good as Position).bytes
    const bytes = this.#encoder.encode(this.#flushLines(count), from)
    if (this.#headless) await this.#settleBase()
    await file.write(bytes)
    if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()
    this.#headless = false
    this.#good = { shard: this.#top, bytes: from + bytes.length }
    return count
  }

  /** From ourselves we take exactly the next shard: if it exists, somebody else took the run. */
  async #openNext(): Promise<AppendFile> {
    const file = await this.#folder.append?.open(shardName(this.#top + 1))
    if (!file) throw fenced()
    this.#top++
    this.#file = file
    this.#headless = true
    return file
  }

  /** Bytes that a header counts must outlive it: they and the row's names are synced before it is written. */
  async #settleBase(): Promise<void> {
    if (this.#good) await this.#folder.append?.sync(shardName(this.#good.shard))
    await this.#folder.append?.syncFolder()
  }

  /** One create per flush; the create is the look. */
  async #createFlush(): Promise<number> {
    const slot = this.#top + 1
    this.#batch ??= {
      bytes: this.#encoder.encode(this.#flushLines(this.#pending.length), 0),
      count: this.#pending.length,
    }
    const { bytes, count } = this.#batch
    await this.#createOwn(shardName(slot), bytes)
    this.#top = slot
    this.#good = { shard: slot, bytes: bytes.length }
    this.#batch = null
    return count
  }

  /** Answers may be lost, so the same bytes are sent again and an existing slot is ours exactly if it holds them. */
  async #createOwn(name: string, bytes: Uint8Array): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        if ((await this.#folder.create(name, bytes)) === "created") return
        const found = await this.#folder.read(name)
        if (found !== null) {
          if (equalBytes(found, bytes)) return
          throw fenced()
        }
        if (attempt >= CREATE_RETRIES) throw storage(`${name} exists and cannot be read.`)
      } catch (error) {
        if (attempt >= CREATE_RETRIES || isFenced(error)) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, CREATE_BACKOFF_MS * 2 ** attempt))
    }
  }

  #flushLines(count: number): readonly string[] {
    const lines = count === this.#lines.length ? this.#lines : this.#lines.slice(0, count)
    if (this.#folder.append && !this.#headless) return lines
    const header: ShardHeader = {
      v: SCHEMA_VERSION,
      writer: this.#writer,
      base: this.#good,
      ...(this.#options.owner && { owner: this.#options.owner }),
    }
    return [JSON.stringify(header), ...lines]
  }

  async #lose(error: LonghaulError): Promise<LonghaulError> {
    this.#lost ??= error
    clearTimeout(this.#rideTimer)
    await this.#closeFile()
    return this.#lost
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = null
    await file?.close().catch(() => {})
  }
}

function fenced(): LonghaulError {
  return new LonghaulError("fenced", "Another process has taken over this run; nothing more is written or run here.", {
    fix: "Watch the run where it is now: its journal has everything that was acknowledged.",
  })
}

function isFenced(error: unknown): error is LonghaulError {
  return LonghaulError.is(error) && error.code === "fenced"
}

function runExists(): LonghaulError {
  return new LonghaulError("run_active", "A run with this id exists already.", {
    retryable: false,
    fix: "Choose another runId, or leave it out to get a new one.",
  })
}

function storage(message: string): LonghaulError {
  return new LonghaulError("storage", message, { fix: "Check the store's space and permissions, then resume the run." })
}

function tailDropped(head: Head): RecordBody {
  const message = `${head.droppedBytes} bytes of an unfinished write behind ${shardName(head.shard)} were dropped.`
  return { type: "warning", code: "journal_tail_dropped", message }
}

/** An owner that shows no sign for this long may be taken over. */
const LEASE_MS = 60_000
/** On append stores a riding record is durable at most this much later. */
const RIDE_MS = 250
const CREATE_RETRIES = 5
const CREATE_BACKOFF_MS = 50
