import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import { newNonce } from "../lib/id.ts"
import type { FlushLines } from "./flush-lines.ts"
import type { KnownShard, Position, ShardClaim, ShardHeader } from "./shard.ts"
import { SCHEMA_VERSION } from "./upgrade.ts"

/** Puts an owner's flushes into the row of shards. */
export interface FlushWriter {
  /** The highest shard this owner created. */
  readonly top: number
  /** The highest shard with a header, as far as it was acknowledged. Throws before the first flush. */
  readonly head: KnownShard
  /**
   * Makes lines durable, as one flush, while nobody else owns the run. Rejects with `fenced` for good, with `storage` where
   * it may be tried again: then with the very same lines, since they may be there already.
   */
  write(lines: FlushLines): Promise<void>
  close(): Promise<void>
}

/** What an owner's headers say of it: a nonce of its own for each take, and who it is on its host. */
export class Ownership {
  readonly #writer = newNonce()
  readonly #claim: ShardClaim
  /** Fixed here: the bytes of a claim and those of its header must be the same. */
  readonly #claimLine: string

  constructor(owner: JsonObject | undefined) {
    this.#claim = { v: SCHEMA_VERSION, writer: this.#writer, ...(owner && { owner }) }
    this.#claimLine = JSON.stringify(this.#claim)
  }

  headerOn(base: Position | null): ShardHeader {
    return { ...this.#claim, base }
  }

  /** The whole header of a shard that appears whole. */
  headerLine(base: Position | null): string {
    return JSON.stringify(this.headerOn(base))
  }

  /** What a shard that is appended to is created with: its first line. */
  get claim(): Uint8Array {
    return new TextEncoder().encode(`${this.#claimLine}\n`)
  }

  /** The header of such a shard: its first line once more, and its base in a line of its own. */
  claimedHeader(base: Position | null): string {
    return `${this.#claimLine}\n${JSON.stringify({ base })}`
  }
}

export function knownShard(header: ShardHeader | undefined, position: Position | null): KnownShard {
  if (header && position) return { shard: position.shard, header, validBytes: position.bytes }
  throw new LonghaulError("internal", "The journal has no acknowledged flush.")
}

export function fenced(): LonghaulError {
  return new LonghaulError("fenced", "Another process has taken over this run; nothing more is written or run here.", {
    fix: "Watch the run where it is now: its journal has everything that was acknowledged.",
  })
}

export function isFenced(error: unknown): error is LonghaulError {
  return LonghaulError.is(error) && error.code === "fenced"
}
