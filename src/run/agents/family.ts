import { Permits } from "../../lib/semaphore.ts"
import type { OwnerWatch } from "../../runs/owner-watch.ts"
import type { CheckedAgents } from "../../settings/options/agents.ts"
import type { RunMonitor } from "../state/monitor-runs.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { Place } from "../state/place.ts"

/** The parts of a runtime that agents need. */
export interface AgentHost {
  readonly watch: OwnerWatch
  readonly monitor: RunMonitor
}

/** The agents of one run in this process. */
export interface AgentTree extends AgentHost {
  readonly permits: Permits
  /** All agents that the run has started, also in earlier processes. */
  started: number
}

/** The relatives of an agent, or of a run. */
export interface Family {
  readonly tree: AgentTree
  readonly place: Place
  /** Absent for the run itself. */
  readonly parent?: OpenRun
  /** Its slot among the agents that work at once. */
  readonly slot?: Slot
}

/** The family of a run that may start agents. `started`: those of earlier processes. */
export function rootFamily({ atOnce }: CheckedAgents, host: AgentHost, started: number): Family {
  const place = { level: 0, name: "root", deniesQuestions: false }
  return { tree: { ...host, permits: new Permits(atOnce), started }, place }
}

/** The slot of a working agent. */
export class Slot {
  readonly #permits: Permits
  readonly #halting: AbortSignal
  #free: (() => void) | undefined
  #waits = 0

  constructor(permits: Permits, halting: AbortSignal) {
    this.#permits = permits
    this.#halting = halting
  }

  async take(): Promise<void> {
    this.#free = await this.#permits.take(this.#halting)
  }

  free(): void {
    this.#free?.()
    this.#free = undefined
  }

  /** Frees the slot while the agent only waits for agents of its own, which would otherwise wait for it. */
  async during<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#waits++ === 0) this.free()
    try {
      return await work()
    } finally {
      if (--this.#waits === 0) await this.take()
    }
  }
}
