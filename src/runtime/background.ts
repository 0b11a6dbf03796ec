import type { RunReference, RunState } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { delay } from "../lib/abort.ts"
import type { ResolvedConfig } from "./config.ts"
import { endRun, wasOrphaned } from "./manage-runs.ts"
import type { OwnerState, OwnerWatch } from "./owner-watch.ts"
import { type FoundRun, judgeRun, listKeys } from "./read-runs.ts"

/** Asks for a run's state until nothing more will come of it by itself. */
export async function waitUntilSettled(
  status: () => Promise<RunState>,
  { timeoutMs = Number.POSITIVE_INFINITY, pollIntervalMs = 500 }: { timeoutMs?: number; pollIntervalMs?: number },
): Promise<RunState> {
  const started = performance.now()
  for (;;) {
    const state = await status()
    const leftMs = timeoutMs - (performance.now() - started)
    if ((state.status !== "running" && state.status !== "queued") || leftMs <= 0) return state
    await delay(Math.min(pollIntervalMs, leftMs))
  }
}

export interface Orphan {
  readonly key: RunKey
  /** As it was when it was judged: whoever takes it since then keeps it. */
  readonly found: FoundRun
  readonly owner: OwnerState
}

/** Runs that say they are under way while their process is gone, or gives no sign for `staleMs`. */
export async function findOrphans(
  config: ResolvedConfig,
  watch: OwnerWatch,
  isOurs: (key: RunKey) => boolean,
  staleMs: number,
  signal: AbortSignal,
): Promise<Orphan[]> {
  const orphans: Orphan[] = []
  let watched = (await listKeys(config)).filter((key) => !isOurs(key))
  for (let pass = 0; pass < 2 && watched.length > 0; pass++) {
    // Timers may be a little early.
    if (pass > 0) await delay(staleMs + 2, signal)
    if (signal.aborted) break
    const alive: RunKey[] = []
    for (const key of watched) {
      const found = await judgeRun(config, key)
      if (found === null || found.projection.status !== "running") continue
      const state = await watch.look(key, found, staleMs)
      if (state === "alive") alive.push(key)
      else orphans.push({ key, found, owner: state })
    }
    watched = alive
  }
  return orphans
}

/** Answers those that nobody else has got to first. */
export async function markOrphans(config: ResolvedConfig, orphans: readonly Orphan[]): Promise<RunReference[]> {
  const marked: RunReference[] = []
  for (const { key, found } of orphans) {
    if (await endRun(config, key, found, wasOrphaned)) marked.push({ runId: key.runId, nodeId: key.nodeId })
  }
  return marked
}
