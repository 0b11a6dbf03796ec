import type { RunKey } from "../contract/store.ts"
import { takeAbandoned } from "../journal/recover.ts"
import { delay } from "../lib/abort.ts"
import { ifDamaged, openNodes, readNode } from "../runs/list-runs.ts"
import type { OwnerState, OwnerWatch } from "../runs/owner-watch.ts"
import type { FoundRun } from "../runs/read-runs.ts"
import type { SurveyedNode } from "../runs/survey.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { endRun, takeOnce, wasOrphaned } from "./manage-runs.ts"

export interface Orphan {
  readonly key: RunKey
  /** The run as it was when its owner was checked: a process that has taken it since then keeps it. */
  readonly found: FoundRun
  readonly owner: OwnerState
}

export interface FoundOrphans {
  /** Paused runs that an orderly shutdown released for the next process. */
  readonly released: readonly Orphan[]
  /** Runs whose status is still `running`. */
  readonly orphans: readonly Orphan[]
  /** Paused or ended runs with a takeover that was started and never completed, which hides their newest records. */
  readonly abandonedTakes: readonly Orphan[]
}

/**
 * Finds runs whose owner is dead or released them, and after `staleMs` those whose owner has shown no sign of life: what is known at
 * once does not wait for the others.
 */
export async function* findOrphans(
  config: ResolvedConfig,
  watch: OwnerWatch,
  isOurs: (key: RunKey) => boolean,
  staleMs: number,
  signal: AbortSignal,
): AsyncGenerator<FoundOrphans> {
  let watched = (await openNodes(config)).filter(({ key }) => !isOurs(key))
  for (let pass = 0; pass < 2 && watched.length > 0; pass++) {
    // Timers may fire slightly early.
    if (pass > 0) await delay(staleMs + 2, signal)
    if (signal.aborted) break
    const alive: SurveyedNode[] = []
    const orphans: Orphan[] = []
    const abandonedTakes: Orphan[] = []
    const released: Orphan[] = []
    for (const node of watched) {
      const { key } = node
      const found = await readNode(config, node).catch(ifDamaged)
      if (found === null) continue
      const { status, isHandedOn } = found.projection
      const isRunning = status === "running"
      const isReleased = status === "paused" && isHandedOn
      if (!isRunning && !isReleased && found.taking === undefined) continue
      const state = await watch.look(key, found, staleMs)
      if (state === "alive") alive.push(node)
      else (isRunning ? orphans : isReleased ? released : abandonedTakes).push({ key, found, owner: state })
    }
    watched = alive
    yield { orphans, abandonedTakes, released }
  }
}

/** Ends orphaned runs as failed. Returns the runs that no other process took first. */
export async function markOrphans(
  config: ResolvedConfig,
  watch: OwnerWatch,
  orphans: readonly Orphan[],
): Promise<RunKey[]> {
  const marked: RunKey[] = []
  for (const { key, found } of orphans) {
    if (await endRun(config, watch, key, found, wasOrphaned)) marked.push(key)
  }
  return marked
}

/** Takes each run without changing its state, which makes its newest records visible again. Returns the runs it could take. */
export async function completeAbandonedTakes(
  config: ResolvedConfig,
  watch: OwnerWatch,
  abandonedTakes: readonly Orphan[],
): Promise<RunKey[]> {
  const completed: RunKey[] = []
  for (const { key, found } of abandonedTakes) {
    if (await takeOnce(config, watch, key, found, () => [takeAbandoned])) completed.push(key)
  }
  return completed
}
