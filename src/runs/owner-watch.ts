import { LonghaulError } from "../contract/error.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunKey } from "../contract/store.ts"
import { LEASE_MS } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import type { Taking } from "../journal/reader.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { type FoundRun, isVoidTake } from "./read-runs.ts"
import { readBeat } from "./state-file.ts"

/** The state of a run's owner. `unresponsive`: it may be alive, but has shown no sign of life for the whole lease. */
export type OwnerState = "released" | "dead" | "unresponsive" | "alive"

/**
 * Determines whether a run may be taken from its owner. Signs of life are timed with the clock of this process only, because
 * clocks of machines differ. A new watch therefore has to observe a whole lease without a sign of life.
 */
export class OwnerWatch {
  readonly #config: ResolvedConfig
  readonly #seen = new Map<string, { readonly sign: string; readonly since: number }>()

  constructor(config: ResolvedConfig) {
    this.#config = config
  }

  async look(key: RunKey, found: FoundRun, leaseMs = LEASE_MS): Promise<OwnerState> {
    const path = runPath(key)
    const state = await this.#stateOf(key, path, found, leaseMs)
    if (state !== "alive") this.#seen.delete(path)
    return state
  }

  async #stateOf(key: RunKey, path: string, found: FoundRun, leaseMs: number): Promise<OwnerState> {
    const { projection, owner, mark, top, taking } = found
    const isReleased = projection.status !== "running"
    if (taking) {
      // A new owner acts only once its header is durable, so open calls were started by the owner before it.
      if (await isVoidTake(this.#config, key)(top, taking))
        return isReleased || this.#isDead(path, owner) ? "dead" : "unresponsive"
    } else {
      if (isReleased) return "released"
      // Its tools may still be running, but no process records their results.
      if (this.#config.abandoned.get(path)?.includes(top)) return "unresponsive"
      if (this.#isDead(path, owner)) return "dead"
    }
    const beat = await readBeat(this.#config.store.folder(path), top)
    if (beat === "lost") return "unresponsive"
    const sign = `${mark} ${beat}`
    return this.#isUnresponsive(path, sign, leaseMs) ? "unresponsive" : "alive"
  }

  /** Stores that append are never shared between machines. On other stores, the lease decides about owners elsewhere. */
  #isDead(path: string, owner: JsonObject | null): boolean {
    return owner !== null && this.#config.isDead(owner, this.#config.store.folder(path).append !== undefined)
  }

  /** Marks a run that this process can no longer write. `top` is the last shard that it created. */
  abandon(key: RunKey, top: number): void {
    const path = runPath(key)
    this.#config.abandoned.set(path, [...(this.#config.abandoned.get(path) ?? []), top])
  }

  /** True if no process will start the run of a row that has shards but no records. */
  async isAbandoned(key: RunKey, top: number, taking: Taking): Promise<boolean> {
    const path = runPath(key)
    return (await isVoidTake(this.#config, key)(top, taking)) || this.#isUnresponsive(path, `void ${top}`, LEASE_MS)
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
  return new LonghaulError(
    "run_active",
    `Run ${runId} is active in another process, or its process died a moment ago.`,
    {
      fix: "Wait for it, or try again in a minute. To take it from a process that may be alive, request a takeover.",
    },
  )
}
