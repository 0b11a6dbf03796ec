import { LonghaulError } from "../contract/error.ts"
import type { RunKey } from "../contract/store.ts"
import { LEASE_MS } from "../journal/journal.ts"
import { runPath } from "../journal/paths.ts"
import type { ResolvedConfig } from "./config.ts"
import type { FoundRun } from "./read-runs.ts"
import { readBeat } from "./state-file.ts"

/** What is known of a run's owner. `silent`: it may live, but has given no sign for as long as was asked. */
export type OwnerState = "released" | "gone" | "silent" | "alive"

/**
 * Tells whether a run may be taken from its owner. Signs of life are compared with earlier ones on this process's own
 * clock: no other clock counts, so a fresh watch has to see nothing for a whole lease first.
 */
export class OwnerWatch {
  readonly #config: ResolvedConfig
  readonly #seen = new Map<string, { readonly sign: string; readonly since: number }>()
  /** The last shard of each run that this runtime had and could no longer write. */
  readonly #givenUp = new Map<string, number>()

  constructor(config: ResolvedConfig) {
    this.#config = config
  }

  async look(key: RunKey, found: FoundRun, leaseMs = LEASE_MS): Promise<OwnerState> {
    const path = runPath(key)
    const state = await this.#judge(path, found, leaseMs)
    if (state !== "alive") this.#seen.delete(path)
    return state
  }

  async #judge(path: string, found: FoundRun, leaseMs: number): Promise<OwnerState> {
    const { projection, owner, mark, top, unsettled } = found
    if (projection.status !== "running" && !unsettled) return "released"
    // What its tools left behind may still be at it, but nobody will record it.
    if (this.#givenUp.get(path) === top) return "silent"
    const folder = this.#config.store.folder(path)
    // Stores that append are never shared between machines; on any other one the lease decides about other machines.
    if (owner !== null && this.#config.isGone(owner, folder.append !== undefined)) return "gone"
    const sign = `${mark} ${await readBeat(folder, top)}`
    return this.#isSilent(path, sign, leaseMs) ? "silent" : "alive"
  }

  /** A run of ours that could not be written any more: `top` is the last shard that we made. */
  giveUp(key: RunKey, top: number): void {
    this.#givenUp.set(runPath(key), top)
  }

  /** Whether nobody has gone on with a row that has shards and no beginning. */
  isAbandoned(key: RunKey, top: number): boolean {
    return this.#isSilent(runPath(key), `void ${top}`, LEASE_MS)
  }

  #isSilent(path: string, sign: string, leaseMs: number): boolean {
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
