import type { RunRecord } from "../contract/event.ts"
import { FlushLines } from "./flush-lines.ts"

/** Records that become durable together, and who waits for that. Used again for others afterwards. */
export class Batch {
  readonly lines = new FlushLines()
  #records: RunRecord[] = []
  #durable: Promise<void> | undefined
  #resolve: () => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #since = 0

  get isEmpty(): boolean {
    return this.lines.isEmpty
  }

  get isAwaited(): boolean {
    return this.#durable !== undefined
  }

  /** How long somebody has waited for it. */
  get waitedMs(): number {
    return this.isAwaited ? performance.now() - this.#since : 0
  }

  /** One promise for all who wait. */
  get durable(): Promise<void> {
    this.#durable ??= new Promise((resolve, reject) => {
      this.#since = performance.now()
      this.#resolve = resolve
      this.#reject = reject
    })
    return this.#durable
  }

  add(record: RunRecord): void {
    this.#records.push(record)
    this.lines.add(JSON.stringify(record))
  }

  /** They are durable: the batch is empty, and those who wait are still to be told. */
  take(): readonly RunRecord[] {
    const records = this.#records
    this.#records = []
    this.lines.clear()
    return records
  }

  resolve(): void {
    this.#durable = undefined
    this.#resolve()
  }

  /** It may be tried again. */
  reject(error: unknown): void {
    this.#durable = undefined
    this.#reject(error)
  }
}
