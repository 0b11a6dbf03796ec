import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunKey } from "../../contract/store.ts"
import { LEASE_MS } from "../../journal/journal.ts"
import { runPath } from "../../journal/paths.ts"
import type { Taking } from "../../journal/reader.ts"
import type { ResolvedConfig } from "../config.ts"
import type { FoundRun } from "./read-runs.ts"
import { readBeat } from "./state-file.ts"

/** What is known of a run's owner. `silent`: it may live, but has given no sign for as long as was asked. */
export type OwnerState = "released" | "dead" | "unresponsive" | "alive"

/**
 * Tells whether a run may be taken from its owner. Signs of life are compared with earlier ones on this process's own
 * clock: no other clock counts, so a fresh watch has to see nothing for a whole lease first.
 */
export class OwnerWatch {
  readonly #config: ResolvedConfig
  readonly #seen = new Map<string, { readonly sign: string; readonly since: number }>()
  /** The last shard of each run that this runtime had and could no longer write. */
  readonly #abandoned = new Map<string, number>()

  constructor(config: ResolvedConfig) {
    this.#config = config
  }

  async look(key: RunKey, found: FoundRun, leaseMs = LEASE_MS): Promise<OwnerState> {
    const path = runPath(key)
    const state = await this.#stateOf(path, found, leaseMs)
    if (state !== "alive") this.#seen.delete(path)
    return state
  }

  async #stateOf(path: string, found: FoundRun, leaseMs: number): Promise<OwnerState> {
    const { projection, owner, mark, top, taking } = found
    const isReleased = projection.status !== "running"
    if (taking) {
      // Whoever takes a run acts only once its header is durable: what was begun was begun by the owner before.
      if (this.#isTakeAbandoned(path, top, taking))
        return isReleased || this.#isDead(path, owner) ? "dead" : "unresponsive"
    } else {
      if (isReleased) return "released"
      // What its tools left behind may still be at it, but nobody will record it.
      if (this.#abandoned.get(path) === top) return "unresponsive"
      if (this.#isDead(path, owner)) return "dead"
    }
    const sign = `${mark} ${await readBeat(this.#config.store.folder(path), top)}`
    return this.#isUnresponsive(path, sign, leaseMs) ? "unresponsive" : "alive"
  }

  /** Whether a take that is not on record will never be: see docs/decisions/0014-create-shard-with-claim.md. */
  #isTakeAbandoned(path: string, top: number, { claim }: Taking): boolean {
    if (this.#abandoned.get(path) === top) return true
    return claim === null ? this.#isLocal(path) : this.#isDead(path, claim.owner ?? null)
  }

  #isDead(path: string, owner: JsonObject | null): boolean {
    return owner !== null && this.#config.isDead(owner, this.#isLocal(path))
  }

  /** Stores that append are never shared between machines; on any other one the lease decides about other machines. */
  #isLocal(path: string): boolean {
    return this.#config.store.folder(path).append !== undefined
  }

  /** A run that could not be written here, or not any more: `top` is the last shard that we made. */
  abandon(key: RunKey, top: number): void {
    this.#abandoned.set(runPath(key), top)
  }

  /** Whether nobody goes on with a row that has shards and no beginning. */
  isAbandoned(key: RunKey, top: number, taking: Taking): boolean {
    const path = runPath(key)
    return this.#isTakeAbandoned(path, top, taking) || this.#isUnresponsive(path, `void ${top}`, LEASE_MS)
  }

  #isUnresponsive(path: string, sign: string, leaseMs: number): boolean {
    const now = performance.now()
    const seen = this.#seen.get(path)
    if (seen?.sign === sign) return now - seen.since >= leaseMs
    this.#seen.set(path, { sign, since: now })
    return false
  }
}

export function stillActive({ runId }: RunKey): LonghaulError {
  return new LonghaulError("run_active", `Run ${runId} is under way elsewhere, or its process died a moment ago.`, {
    fix: "Wait for it, or try again in a minute. To take it from a process that may be alive, ask for a takeover.",
  })
}
