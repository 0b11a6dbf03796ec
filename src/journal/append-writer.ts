import { LonghaulError } from "../contract/error.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import { type FlushWriter, fenced, isFenced, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import { FlushEncoder, type Position } from "./shard.ts"

/** Appends flushes to a shard that only this owner ever writes. For stores where a look sees every create at once. */
export class AppendWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  readonly #encoder = new FlushEncoder()
  #top: number
  /** End of the last acknowledged flush: the base of the next header. */
  #good: Position | null
  /** Null: the shard is dead, and the next flush opens another. */
  #file: AppendFile | null
  /** The shard was created but holds no header yet. */
  #headless = true
  /** What a header would count could not be made durable: nothing may be built on it from here. */
  #baseFailed = false

  /** `file` is shard `top`, created just now; `base` is what counts below it. */
  constructor(folder: Folder, ownership: Ownership, file: AppendFile, top: number, base: Position | null) {
    this.#folder = folder
    this.#ownership = ownership
    this.#file = file
    this.#top = top
    this.#good = base
  }

  get top(): number {
    return this.#top
  }

  /** Where a shard failed, one attempt with the next: we take the run from ourselves. */
  async write(lines: readonly string[]): Promise<number> {
    if (this.#file !== null) {
      try {
        return await this.#writeFlush(this.#file, lines)
      } catch (error) {
        // Half a line may stand there, or a sync may have lied: this shard is never written again.
        await this.close()
        if (isFenced(error) || this.#baseFailed) throw error
      }
    }
    if (this.#baseFailed) throw baseLost()
    const file = await this.#openNext()
    try {
      return await this.#writeFlush(file, lines)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = null
    await file?.close().catch(() => {})
  }

  /** Append, sync, look: acknowledged only if nobody has created the next shard by then. */
  async #writeFlush(file: AppendFile, lines: readonly string[]): Promise<number> {
    const from = this.#headless ? 0 : (this.#good as Position).bytes
    const flushed = this.#headless ? [this.#ownership.headerLine(this.#good), ...lines] : lines
    const bytes = this.#encoder.encode(flushed, from)
    if (this.#headless) await this.#settleBase()
    await file.write(bytes)
    if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()
    this.#headless = false
    this.#good = { shard: this.#top, bytes: from + bytes.length }
    return lines.length
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
    // A disk tells of a failed sync once: a second one that says nothing proves nothing.
    this.#baseFailed = true
    if (this.#good) await this.#folder.append?.sync(shardName(this.#good.shard))
    this.#baseFailed = false
    await this.#folder.append?.syncFolder()
  }
}

function baseLost(): LonghaulError {
  return new LonghaulError("storage", "What the journal already holds could not be made durable.", {
    fix: "Check the disk, then resume the run.",
  })
}
