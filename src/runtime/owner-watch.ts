import { LonghaulError } from "../contract/error.ts"
import type { RunKey } from "../contract/store.ts"
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

  constructor(config: ResolvedConfig) {
    this.#config = config
  }

  async look(key: RunKey, found: FoundRun, leaseMs = LEASE_MS): Promise<OwnerState> {
    const path = runPath(key)
    const state = await this.#judge(path, found, leaseMs)
    if (state !== "alive") this.#seen.delete(path)
    return state
  }

  async #judge(path: string, { projection, owner, mark, top }: FoundRun, leaseMs: number): Promise<OwnerState> {
    if (projection.status !== "running") return "released"
    if (owner !== null && this.#config.isGone(owner)) return "gone"
    const sign = `${mark} ${await readBeat(this.#config.store.folder(path), top)}`
    const now = performance.now()
    const seen = this.#seen.get(path)
    if (seen?.sign === sign) return now - seen.since >= leaseMs ? "silent" : "alive"
    this.#seen.set(path, { sign, since: now })
    return "alive"
  }
}

export function stillActive({ runId }: RunKey): LonghaulError {
  return new LonghaulError("run_active", `Run ${runId} is under way elsewhere, or its process died a moment ago.`, {
    fix: "Wait for it, or try again in a minute. To take it from a process that may be alive, ask for a takeover.",
  })
}

/** An owner that shows no sign for this long may be taken over. */
const LEASE_MS = 60_000
