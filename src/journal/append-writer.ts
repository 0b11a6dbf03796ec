import { LonghaulError } from "../contract/error.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import type { FlushLines } from "./flush-lines.ts"
import { type FlushWriter, fenced, isFenced, knownShard, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import type { KnownShard, Position, ShardHeader } from "./shard.ts"

/** Appends flushes to a shard that only this owner writes. For stores where an existence check sees every create immediately. */
export class AppendWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  #top: number
  /** End of the last acknowledged flush: the base of the next header. */
  #good: Position | null
  /** The header of the shard that contains that flush. */
  #header: ShardHeader | undefined
  /** Null: the shard must never be written again; the next flush opens another. */
  #file: AppendFile | null
  /** True while the shard contains no header. */
  #headless = true
  /** Set once no further shard may be opened, because the bytes it would count are not durable or were deleted. */
  #lost: LonghaulError | null = null

  /** `file` is shard `top`, just created; `base` is the end of the valid records below it. */
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

  get head(): KnownShard {
    return knownShard(this.#header, this.#good)
  }

  /**
   * Appends, syncs, then checks for the next shard: the flush is acknowledged only if no other process has created it. If a
   * shard fails, the flush is tried once more in the next shard.
   */
  async write(lines: FlushLines): Promise<void> {
    for (;;) {
      const isLast = this.#file === null
      const file = this.#file ?? (await this.#openNext())
      try {
        // Safe: a shard with a header has a good position.
        const from = this.#headless ? 0 : (this.#good as Position).bytes
        const bytes = lines.sealed(from, this.#headless ? this.#ownership.claimedHeader(this.#good) : undefined)
        if (this.#headless) {
          // Bytes that a header counts must survive a power loss if the header does, so they and the names are synced first.
          if (this.#good) await this.#syncBase(this.#good)
          await this.#folder.append?.syncFolder()
        }
        // The shard was created with its claim, so the first flush does not write it again.
        await file.write(this.#headless ? bytes.subarray(this.#ownership.claim.length) : bytes)
        if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()
        if (!(await file.stands())) throw this.#lose(vanished(this.#folder, this.#top))
        if (this.#headless) this.#header = this.#ownership.headerOn(this.#good)
        this.#headless = false
        this.#good = { shard: this.#top, bytes: from + bytes.length }
        return
      } catch (error) {
        // The shard may contain half a line, or a sync may have failed unnoticed: it is never written again.
        await this.close()
        if (isLast || isFenced(error) || this.#lost) throw error
      }
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = null
    await file?.close().catch(() => {})
  }

  /** Opens exactly the next shard. If it exists, another process has taken the run. */
  async #openNext(): Promise<AppendFile> {
    if (this.#lost) throw this.#lost
    const file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    if (!file) throw fenced()
    this.#top++
    this.#file = file
    this.#headless = true
    return file
  }

  /** A disk reports a failed sync only once, so a later successful sync proves nothing. */
  async #syncBase({ shard }: Position): Promise<void> {
    this.#lose(baseLost())
    await this.#folder.append?.sync(shardName(shard))
    this.#lost = null
  }

  #lose(error: LonghaulError): LonghaulError {
    this.#lost = error
    return error
  }
}

/** Records in a deleted file must neither be acknowledged nor be the base of another shard. */
function vanished(folder: Folder, shard: number): LonghaulError {
  const message = `Journal shard ${shardName(shard)} in ${folder.location} was deleted or moved while the run was active.`
  return new LonghaulError("storage", message, {
    retryable: false,
    fix: "Restore the run's folder, then resume the run; records that cannot be restored are lost.",
  })
}

function baseLost(): LonghaulError {
  return new LonghaulError("storage", "The existing records of the journal could not be made durable.", {
    fix: "Check the disk, then resume the run.",
  })
}
