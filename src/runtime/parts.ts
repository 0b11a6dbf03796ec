import type { StartedRun } from "../contract/run.ts"
import type { RunKey } from "../contract/store.ts"
import { contain } from "../lib/contained.ts"
import { checkedId } from "../lib/id.ts"
import type { Semaphore } from "../lib/semaphore.ts"
import { OwnerWatch } from "../runs/owner-watch.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { Followers } from "./follow-runs.ts"
import { Launcher } from "./launch-runs.ts"
import { type LiveRun, LiveRuns } from "./live-runs.ts"
import { WebhookSender } from "./webhooks/sender.ts"

/** The parts that the methods of a runtime share. */
export interface Parts {
  readonly config: ResolvedConfig
  /** Aborts when no new run may be launched. */
  readonly refuse: AbortController
  /** Aborts when queued runs and waits must end. */
  readonly closing: AbortController
  readonly watch: OwnerWatch
  readonly webhooks: WebhookSender
  readonly live: LiveRuns
  readonly launcher: Launcher
  readonly followers: Followers
  /** Returns a validated key. */
  key(runId: string, nodeId?: string): RunKey
}

export function assembleParts(config: ResolvedConfig, permits: Semaphore | undefined): Parts {
  const refuse = new AbortController()
  const closing = new AbortController()
  const watch = new OwnerWatch(config)
  const webhooks = new WebhookSender(config, closing.signal)
  const live = new LiveRuns(config, permits, watch, webhooks, { refuse: refuse.signal, closing: closing.signal })
  const launcher = new Launcher(config, live, watch, webhooks)
  const followers = new Followers(config, live)
  const key = (runId: string, nodeId = "main"): RunKey => ({
    workspaceId: config.workspaceId,
    runId: checkedId("runId", runId),
    nodeId: checkedId("nodeId", nodeId),
  })
  return { config, refuse, closing, watch, webhooks, live, launcher, followers, key }
}

/** Reports the state of a background run, which the host keeps alive until its webhook was delivered. */
export function inBackground({ config, live }: Parts, run: LiveRun): Promise<StartedRun> {
  contain(() => config.executor?.run(run.delivered))
  return live.report(run)
}
