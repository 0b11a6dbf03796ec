import { LonghaulError } from "../contract/error.ts"
import type { AppendFile, Folder } from "../contract/store.ts"
import type { FlushLines } from "./flush-lines.ts"
import { type FlushWriter, fenced, isFenced, knownShard, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import type { KnownShard, Position, ShardHeader } from "./shard.ts"

/** Appends flushes to a shard that only this owner ever writes. For stores where a look sees every create at once. */
export class AppendWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  #top: number
  /** End of the last acknowledged flush: the base of the next header. */
  #good: Position | null
  /** Of the shard that holds it. */
  #header: ShardHeader | undefined
  /** Null: the shard is dead, and the next flush opens another. */
  #file: AppendFile | null
  /** The shard was created but holds no header yet. */
  #headless = true
  /** Why nothing may be built on what is here: what a header would count is not durable, or not there any more. */
  #lost: LonghaulError | null = null

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

  get head(): KnownShard {
    return knownShard(this.#header, this.#good)
  }

  /**
   * Append, sync, look: acknowledged only if nobody has created the next shard by then. Where a shard failed, one attempt
   * with the next: we take the run from ourselves.
   */
  async write(lines: FlushLines): Promise<void> {
    for (;;) {
      const isLast = this.#file === null
      const file = this.#file ?? (await this.#openNext())
      try {
        const from = this.#headless ? 0 : (this.#good as Position).bytes
        const bytes = lines.sealed(from, this.#headless ? this.#ownership.claimedHeader(this.#good) : undefined)
        if (this.#headless) {
          // Bytes that a header counts must outlive it: they and the row's names are synced before it is written.
          if (this.#good) await this.#syncBase(this.#good)
          await this.#folder.append?.syncFolder()
        }
        // The shard was created with its claim, which belongs to its first flush.
        await file.write(this.#headless ? bytes.subarray(this.#ownership.claim.length) : bytes)
        if (await this.#folder.exists(shardName(this.#top + 1))) throw fenced()
        if (!(await file.stands())) throw this.#lose(vanished(this.#folder, this.#top))
        if (this.#headless) this.#header = this.#ownership.headerOn(this.#good)
        this.#headless = false
        this.#good = { shard: this.#top, bytes: from + bytes.length }
        return
      } catch (error) {
        // Half a line may stand there, or a sync may have lied: this shard is never written again.
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

  /** From ourselves we take exactly the next shard: if it exists, somebody else took the run. */
  async #openNext(): Promise<AppendFile> {
    if (this.#lost) throw this.#lost
    const file = await this.#folder.append?.open(shardName(this.#top + 1), this.#ownership.claim)
    if (!file) throw fenced()
    this.#top++
    this.#file = file
    this.#headless = true
    return file
  }

  /** A disk tells of a failed sync once: a second one that says nothing proves nothing. */
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

/** Nothing may be acknowledged that stands in a file without a name, nor built on one. */
function vanished(folder: Folder, shard: number): LonghaulError {
  const message = `Journal shard ${shardName(shard)} in ${folder.location} was deleted or moved while the run was under way.`
  return new LonghaulError("storage", message, {
    retryable: false,
    fix: "Put the run's folder back, then resume the run; what cannot be put back is lost.",
  })
}

function baseLost(): LonghaulError {
  return new LonghaulError("storage", "What the journal already holds could not be made durable.", {
    fix: "Check the disk, then resume the run.",
  })
}
