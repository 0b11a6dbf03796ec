import { Semaphore } from "../../lib/semaphore.ts"
import type { RunServices, RunTree } from "./open-run.ts"

/** The tree of a run that is not an agent. `started`: its agents of earlier processes. */
export function rootTree(services: RunServices, atOnce: number, started: number): RunTree {
  const { watch, monitor, execute } = services
  return {
    level: 0,
    name: "root",
    deniesQuestions: false,
    shared: { watch, monitor, execute, slots: new Semaphore(atOnce), started },
  }
}
