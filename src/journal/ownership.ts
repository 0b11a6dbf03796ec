import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import { newNonce } from "../lib/id.ts"
import type { FlushLines } from "./flush-lines.ts"
import type { KnownShard, Position, ShardClaim, ShardHeader } from "./shard.ts"
import { SCHEMA_VERSION } from "./upgrade.ts"

/** Writes the flushes of an owner to the row of shards. */
export interface FlushWriter {
  /** The highest shard this owner created. */
  readonly top: number
  /** The acknowledged part of the highest shard with a header. Throws before the first flush. */
  readonly head: KnownShard
  /**
   * Makes lines durable as one flush, if no other process owns the run. Rejects with `fenced` permanently, and with `storage` if
   * the caller may try again; it must then pass the same lines, because they may already be written.
   */
  write(lines: FlushLines): Promise<void>
  close(): Promise<void>
}

/** The identity of an owner in its shard headers: a new nonce per take, and a description of its process. */
export class Ownership {
  readonly #writer = newNonce()
  readonly #claim: ShardClaim
  /** Serialized once: the claim and the header must contain the same bytes. */
  readonly #claimLine: string

  constructor(owner: JsonObject | undefined) {
    this.#claim = { v: SCHEMA_VERSION, writer: this.#writer, ...(owner && { owner }) }
    this.#claimLine = JSON.stringify(this.#claim)
  }

  headerOn(base: Position | null): ShardHeader {
    return { ...this.#claim, base }
  }

  /** The header of a shard that is created as a whole. */
  headerLine(base: Position | null): string {
    return JSON.stringify(this.headerOn(base))
  }

  /** The first line of a shard that is appended to. The shard is created with it. */
  get claim(): Uint8Array {
    return new TextEncoder().encode(`${this.#claimLine}\n`)
  }

  /** The header of a shard that is appended to: the claim line, then the base in a separate line. */
  claimedHeader(base: Position | null): string {
    return `${this.#claimLine}\n${JSON.stringify({ base })}`
  }
}

export function knownShard(header: ShardHeader | undefined, position: Position | null): KnownShard {
  if (header && position) return { shard: position.shard, header, validBytes: position.bytes }
  throw new LonghaulError("internal", "The journal has no acknowledged flush.")
}

export function fenced(): LonghaulError {
  return new LonghaulError(
    "fenced",
    "Another process has taken over this run; this process no longer writes or runs anything.",
    {
      fix: "Follow the run in its journal, which contains everything that was acknowledged.",
    },
  )
}

export function isFenced(error: unknown): error is LonghaulError {
  return LonghaulError.is(error) && error.code === "fenced"
}
