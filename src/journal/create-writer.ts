import type { Folder } from "../contract/store.ts"
import { createOwn } from "./create-own.ts"
import type { FlushLines } from "./flush-lines.ts"
import { type FlushWriter, fenced, type Ownership } from "./ownership.ts"
import { shardName } from "./paths.ts"
import type { Position } from "./shard.ts"

/** Creates one shard for each flush; the create is the look. For stores that create whole files or nothing. */
export class CreateWriter implements FlushWriter {
  readonly #folder: Folder
  readonly #ownership: Ownership
  #top: number
  #base: Position | null

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

  get bytes(): number {
    return this.#base?.bytes ?? 0
  }

  async write(lines: FlushLines): Promise<void> {
    const slot = this.#top + 1
    const bytes = lines.sealed(0, this.#ownership.headerLine(this.#base))
    if (!(await createOwn(this.#folder, shardName(slot), bytes))) throw fenced()
    this.#top = slot
    this.#base = { shard: slot, bytes: bytes.length }
  }

  async close(): Promise<void> {}
}
