import type { AgentHost, Family } from "./agents/family.ts"
import type { RunControls } from "./controls.ts"
import type { Ledger } from "./ledger.ts"
import type { OpenRun } from "./open-run.ts"
import type { Publisher } from "./publisher.ts"

/** The parts that a run needs beside its input. */
export interface Seat {
  readonly publisher: Publisher
  readonly controls: RunControls
  /** Cancels the run. */
  readonly signal?: AbortSignal
  /** The ledger of which the run's own is a part. */
  readonly ledger?: Ledger
  /** What its agents need. Absent: it starts none. */
  readonly agentHost?: AgentHost
  /** Present if the run is an agent of another one. */
  readonly family?: Family
  /** Called once this process owns the run and its first records are durable. Returns a function to call when it has ended. */
  opened(run: OpenRun): () => Promise<void>
}
