import type { Folder } from "../contract/store.ts"
import { createOwn } from "./create-own.ts"
import type { FlushLines } from "./flush-lines.ts"
import { type FlushWriter, fenced, knownShard, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import type { KnownShard, Position, ShardHeader } from "./shard.ts"

/** Creates one shard per flush; the create itself detects other owners. For stores that only create whole files. */
export class CreateWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  #top: number
  #base: Position | null
  /** The header of the last acknowledged shard. */
  #header: ShardHeader | undefined

  /** `top` is the highest existing shard; `base` is the end of the valid records up to it. */
  constructor(folder: Folder, ownership: Ownership, top: number, base: Position | null) {
    this.#folder = folder
    this.#ownership = ownership
    this.#top = top
    this.#base = base
  }

  get top(): number {
    return this.#top
  }

  get head(): KnownShard {
    return knownShard(this.#header, this.#base)
  }

  async write(lines: FlushLines): Promise<void> {
    const slot = this.#top + 1
    const bytes = lines.sealed(0, this.#ownership.headerLine(this.#base))
    if (!(await createOwn(this.#folder, shardName(slot), bytes))) throw fenced()
    this.#top = slot
    this.#header = this.#ownership.headerOn(this.#base)
    this.#base = { shard: slot, bytes: bytes.length }
  }

  async close(): Promise<void> {}
}
