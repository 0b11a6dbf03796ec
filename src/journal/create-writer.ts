import type { Folder } from "../contract/store.ts"
import { createOwn } from "./create-own.ts"
import { type FlushWriter, fenced, type Ownership } from "./ownership.ts"
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
    if (!(await createOwn(this.#folder, shardName(slot), bytes))) throw fenced()
    this.#top = slot
    this.#base = { shard: slot, bytes: bytes.length }
    this.#batch = null
    return count
  }

  async close(): Promise<void> {}
}
