import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import { FlushLines } from "./flush-lines.ts"
import { Refilled } from "./refilled.ts"

/** Records that become durable together, and who waits for that. Used again for others afterwards. */
export class Batch {
  /** It is to become durable now, whether somebody waits for that or not. */
  isWanted = false
  readonly lines = new FlushLines()
  readonly #records = new Refilled<RunRecord>()
  #durable: Promise<void> | undefined
  #resolve: (() => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #since = 0

  get isEmpty(): boolean {
    return this.lines.isEmpty
  }

  /** How long somebody has waited for it. */
  get waitedMs(): number {
    return this.#durable === undefined ? 0 : performance.now() - this.#since
  }

  /** One promise for all who wait. */
  get durable(): Promise<void> {
    this.isWanted = true
    this.#durable ??= new Promise((resolve, reject) => {
      this.#since = performance.now()
      this.#resolve = resolve
      this.#reject = reject
    })
    return this.#durable
  }

  /** Throws where a record cannot be written as JSON, and has then added nothing. */
  add(record: RunRecord): void {
    const line = jsonOf(record)
    this.lines.add(line)
    this.#records.push(record)
  }

  /** They are durable: the batch is empty, and those who wait are still to be told. */
  take(): readonly RunRecord[] {
    this.lines.clear()
    return this.#records.take()
  }

  resolve(): void {
    this.#resolve?.()
    this.#forget()
  }

  /** It may be tried again. False: somebody wanted it, and nobody waits to hear of this. */
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
