import type { RunResult } from "../../src/contract/result.ts"
import type { RunInput } from "../../src/contract/run.ts"
import { beginning, executeRun } from "../../src/run/execute-run.ts"
import { RunControls } from "../../src/run/state/controls.ts"
import type { Ledger } from "../../src/run/state/ledger.ts"
import { RunMonitor } from "../../src/run/state/monitor-runs.ts"
import type { OpenRun } from "../../src/run/state/open-run.ts"
import { Publisher } from "../../src/run/state/publisher.ts"
import { rootTree } from "../../src/run/state/root-tree.ts"
import { OwnerWatch } from "../../src/runs/owner-watch.ts"
import type { ResolvedConfig } from "../../src/settings/config/config.ts"
import { runKey } from "../../src/settings/input/input.ts"

const AT_ONCE = 4

/** Executes a run as a part of a ledger that others share. */
export function runUnder(ledger: Ledger, config: ResolvedConfig, input: RunInput): Promise<RunResult> {
  const services = { watch: new OwnerWatch(config), monitor: new RunMonitor(), execute: executeRun }
  const key = runKey(config, input)
  // The run needs the ledger of its parent and nothing else of it.
  const parent = { ledger } as OpenRun
  return executeRun(config, key, () => beginning(config, key, input, () => false), {
    publisher: new Publisher([]),
    controls: new RunControls(),
    position: { agent: { ...rootTree(services, AT_ONCE, 0), parent } },
    opened: () => async () => {},
  })
}
