import { LonghaulError } from "../contract/error.ts"
import type { Folder } from "../contract/store.ts"
import { equalBytes } from "../lib/bytes.ts"
import { type FlushWriter, fenced, isFenced, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import { FlushEncoder, type Position } from "./shard.ts"

/** Creates one shard for each flush; the create is the look. For stores that create whole files or nothing. */
export class CreateWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  readonly #encoder = new FlushEncoder()
  #top: number
  #base: Position | null
  /** Bytes once tried are tried again unchanged until their fate is known. */
  #batch: { readonly bytes: Uint8Array; readonly count: number } | null = null

  /** `top` is the highest shard there is, all of which was read; `base` is that shard. */
  constructor(folder: Folder, ownership: Ownership, top: number, base: Position | null) {
    this.#folder = folder
    this.#ownership = ownership
    this.#top = top
    this.#base = base
  }

  get top(): number {
    return this.#top
  }

  async write(lines: readonly string[]): Promise<number> {
    const slot = this.#top + 1
    const flushed = [this.#ownership.headerLine(this.#base), ...lines]
    this.#batch ??= { bytes: this.#encoder.encode(flushed, 0), count: lines.length }
    const { bytes, count } = this.#batch
    await this.#createOwn(shardName(slot), bytes)
    this.#top = slot
    this.#base = { shard: slot, bytes: bytes.length }
    this.#batch = null
    return count
  }

  async close(): Promise<void> {}

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
        if (attempt >= CREATE_RETRIES) throw unreadable(name)
      } catch (error) {
        if (attempt >= CREATE_RETRIES || isFenced(error)) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, CREATE_BACKOFF_MS * 2 ** attempt))
    }
  }
}

function unreadable(name: string): LonghaulError {
  return new LonghaulError("storage", `${name} exists and cannot be read.`, {
    fix: "Check the store's permissions, then resume the run.",
  })
}

const CREATE_RETRIES = 5
const CREATE_BACKOFF_MS = 50
