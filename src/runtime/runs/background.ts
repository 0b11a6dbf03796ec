import type { RunKey } from "../../contract/store.ts"
import { delay } from "../../lib/abort.ts"
import type { ResolvedConfig } from "../config.ts"
import { openNodes, readNode } from "./list-runs.ts"
import { endRun, takeAbandoned, takeOnce, wasOrphaned } from "./manage-runs.ts"
import type { OwnerState, OwnerWatch } from "./owner-watch.ts"
import type { FoundRun } from "./read-runs.ts"
import type { SurveyedNode } from "./survey.ts"

export interface Orphan {
  readonly key: RunKey
  /** The run as it was when its owner was checked: a process that has taken it since then keeps it. */
  readonly found: FoundRun
  readonly owner: OwnerState
}

interface FoundOrphans {
  /** Runs whose status is still `running`. */
  readonly orphans: readonly Orphan[]
  /** Paused or ended runs with a takeover that was started and never completed, which hides their newest records. */
  readonly abandonedTakes: readonly Orphan[]
}

/** Finds runs whose owner is dead, or has shown no sign of life for `staleMs`. */
export async function findOrphans(
  config: ResolvedConfig,
  watch: OwnerWatch,
  isOurs: (key: RunKey) => boolean,
  staleMs: number,
  signal: AbortSignal,
): Promise<FoundOrphans> {
  const orphans: Orphan[] = []
  const abandonedTakes: Orphan[] = []
  let watched = (await openNodes(config)).filter(({ key }) => !isOurs(key))
  for (let pass = 0; pass < 2 && watched.length > 0; pass++) {
    // Timers may fire slightly early.
    if (pass > 0) await delay(staleMs + 2, signal)
    if (signal.aborted) break
    const alive: SurveyedNode[] = []
    for (const node of watched) {
      const { key } = node
      const found = await readNode(config, node)
      if (found === null) continue
      const isRunning = found.projection.status === "running"
      if (!isRunning && found.taking === undefined) continue
      const state = await watch.look(key, found, staleMs)
      if (state === "alive") alive.push(node)
      else (isRunning ? orphans : abandonedTakes).push({ key, found, owner: state })
    }
    watched = alive
  }
  return { orphans, abandonedTakes }
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
