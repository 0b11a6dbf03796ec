import type { RunRecord } from "../contract/event.ts"
import type { Folder } from "../contract/store.ts"
import { createReader, type IsVoid, type RunReader } from "../journal/reader.ts"

/** The position of a follower: the next record that it needs. */
export interface Place {
  next: number
}

/** An incremental reader that all followers of a run in this process share. */
export class SharedReader {
  users = 0
  readonly #reader: RunReader
  readonly #places = new Set<Place>()
  /** The records that a follower still needs. */
  #records: RunRecord[] = []
  #nextSeq = 0
  #ended = false
  #removed = false
  #reading: Promise<void> | undefined
  #scheduled: Scheduled | undefined

  constructor(folder: Folder, isVoid: IsVoid) {
    this.#reader = createReader(folder, isVoid)
  }

  get nextSeq(): number {
    return this.#nextSeq
  }

  get removed(): boolean {
    return this.#removed
  }

  /** True if the run has ended or paused, according to the records read so far. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Also false while a takeover hides the newest records, so that the caller checks the status itself. */
  get isRunning(): boolean {
    return this.#nextSeq > 0 && !this.#ended && !this.#removed && !this.#reader.takeoverPending
  }

  /** The first record that `recordsFrom` can return. */
  get firstKept(): number {
    return this.#nextSeq - this.#records.length
  }

  recordsFrom(seq: number): readonly RunRecord[] {
    return this.#removed ? [] : this.#records.slice(Math.max(0, seq - this.firstKept))
  }

  enter(next: number): Place {
    const place = { next }
    this.#places.add(place)
    return place
  }

  exit(place: Place): void {
    this.#places.delete(place)
  }

  /** Reads new records. Concurrent callers share one read. */
  read(): Promise<void> {
    this.#reading ??= this.#readNew().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Resolves after the next read, which starts within `ms`. */
  readWithin(ms: number): Promise<void> {
    const due = performance.now() + ms
    this.#scheduled ??= new Scheduled()
    this.#scheduled.advanceTo(due, () => {
      const scheduled = this.#scheduled
      this.#scheduled = undefined
      scheduled?.resolve(this.read())
    })
    return this.#scheduled.done
  }

  close(): void {
    this.#scheduled?.cancel()
  }

  async #readNew(): Promise<void> {
    const news = await this.#reader.next()
    this.#forget()
    for (const record of news) this.#apply(record)
    if (this.#places.size > 0) this.#records = [...this.#records, ...news]
  }

  #apply({ seq, type }: RunRecord): void {
    if (type !== "run-remove") this.#nextSeq = seq + 1
    if (type === "run-start" || type === "run-resume") this.#ended = false
    if (type === "run-pause" || type === "run-end") this.#ended = true
    if (type === "run-remove") this.#removed = true
  }

  /** Drops records that all followers have received. */
  #forget(): void {
    const needed = Math.min(this.#nextSeq, ...Array.from(this.#places, ({ next }) => next))
    this.#records = this.recordsFrom(Math.max(needed, this.firstKept)).slice()
  }
}

/** A scheduled read. */
class Scheduled {
  readonly done: Promise<void>
  resolve: (reading?: Promise<void>) => void = () => {}
  #due = Number.POSITIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    this.done = new Promise((resolve) => {
      this.resolve = resolve
    })
    // Waiting callers receive the failure. Without any, it must not become an unhandled rejection.
    this.done.catch(() => {})
  }

  /** Starts the read at `due`, unless it is scheduled earlier. */
  advanceTo(due: number, begin: () => void): void {
    if (due >= this.#due) return
    clearTimeout(this.#timer)
    this.#due = due
    this.#timer = setTimeout(begin, Math.max(0, due - performance.now()))
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.resolve()
  }
}
