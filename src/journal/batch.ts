import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import { FlushLines } from "./flush-lines.ts"

/** Records that become durable together, with a promise for the callers that wait. Reused after each flush. */
export class Batch {
  /** True if a flush was requested, with or without a waiting caller. */
  isWanted = false
  readonly lines = new FlushLines()
  #records: RunRecord[] = []
  #durable: Promise<void> | undefined
  #resolve: (() => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #since = 0

  get isEmpty(): boolean {
    return this.lines.isEmpty
  }

  /** Milliseconds since the first caller started to wait. */
  get waitedMs(): number {
    return this.#durable === undefined ? 0 : performance.now() - this.#since
  }

  /** One promise for all waiting callers. */
  get durable(): Promise<void> {
    this.isWanted = true
    this.#durable ??= new Promise((resolve, reject) => {
      this.#since = performance.now()
      this.#resolve = resolve
      this.#reject = reject
    })
    return this.#durable
  }

  /** Throws, and adds nothing, if the record cannot be written as JSON. */
  add(record: RunRecord): void {
    const line = jsonOf(record)
    this.lines.add(line)
    this.#records.push(record)
  }

  /** Empties the batch and returns its records, which are durable. Call `resolve` afterwards. */
  take(): readonly RunRecord[] {
    this.lines.clear()
    const taken = this.#records
    this.#records = []
    return taken
  }

  resolve(): void {
    this.#resolve?.()
    this.#forget()
  }

  /** Reports a failed flush; the batch may be tried again. Returns false if a flush was requested but no caller waits for it. */
  reject(error: unknown): boolean {
    const isDelivered = this.#durable !== undefined || !this.isWanted
    this.#reject?.(error)
    this.#forget()
    return isDelivered
  }

  #forget(): void {
    this.isWanted = false
    this.#durable = undefined
    this.#resolve = undefined
    this.#reject = undefined
  }
}

function jsonOf(record: RunRecord): string {
  try {
    return JSON.stringify(record)
  } catch (cause) {
    throw new LonghaulError("internal", `A record of type ${record.type} cannot be written as JSON.`, { cause })
  }
}
