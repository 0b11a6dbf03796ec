import type { RunControls } from "../state/controls.ts"
import type { Ledger } from "../state/ledger.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { Publisher } from "../state/publisher.ts"
import type { AgentHost, Family } from "./family.ts"

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
