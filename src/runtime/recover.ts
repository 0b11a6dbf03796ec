import type { RunReference } from "../contract/run.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { RunKey } from "../contract/store.ts"
import { LEASE_MS } from "../journal/journal.ts"
import { failureCode } from "../lib/failures.ts"
import { oneOf } from "../lib/known-keys.ts"
import type { ResolvedConfig } from "../settings/config/config.ts"
import { methodOptions } from "../settings/input/method-options.ts"
import { completeAbandonedTakes, type FoundOrphans, findOrphans, markOrphans } from "./background.ts"
import { inBackground, type Parts } from "./parts.ts"

/** Never rejects: a runtime works without it. */
export async function recoverAtStart(parts: Parts, action: "mark" | "resume"): Promise<void> {
  await recover(parts, { action }).catch((error) => recoveryFailed(parts.config, error))
}

export async function recover(
  parts: Parts,
  options?: Parameters<Runtime["recoverOrphanedRuns"]>[0],
): Promise<readonly RunReference[]> {
  const { config, watch, webhooks, live, closing } = parts
  const { staleMs = LEASE_MS, action = "mark" } = methodOptions("recoverOrphanedRuns", options)
  oneOf("action", action, ["mark", "resume"])
  // Delivery and recovery are independent: each reads its own remaining work.
  const pending = webhooks.deliverAll().catch((error) => recoveryFailed(config, error))
  const isOurs = (found: RunKey) => live.find(found) !== undefined
  const recovered: RunReference[] = []
  for await (const found of findOrphans(config, watch, isOurs, staleMs, closing.signal)) {
    await pending
    recovered.push(...(await (action === "mark" ? mark(parts, found) : resumeFound(parts, found))))
  }
  return recovered
}

/** Ends orphaned runs. Released ones wait for a process that resumes them. */
async function mark({ config, watch, webhooks }: Parts, found: FoundOrphans): Promise<readonly RunReference[]> {
  const hidden = [...found.abandonedTakes, ...found.released.filter(({ found: { taking } }) => taking !== undefined)]
  for (const key of await completeAbandonedTakes(config, watch, hidden)) webhooks.deliver(key, "all")
  const marked = await markOrphans(config, watch, found.orphans)
  for (const key of marked) webhooks.deliver(key, "newest")
  return marked.map(({ runId, nodeId }) => ({ runId, nodeId }))
}

/** Resumes orphaned and released runs in the background. */
async function resumeFound(parts: Parts, found: FoundOrphans): Promise<readonly RunReference[]> {
  const { config, watch, webhooks, launcher } = parts
  for (const key of await completeAbandonedTakes(config, watch, found.abandonedTakes)) webhooks.deliver(key, "all")
  const resumed = await Promise.all(
    [...found.orphans, ...found.released].map((orphan) => {
      const { runId, nodeId } = orphan.key
      return inBackground(parts, launcher.resume({ runId, nodeId }, { background: "recovered", orphan }))
    }),
  )
  return resumed.filter(({ error }) => error?.code !== "fenced")
}

function recoveryFailed({ logger }: ResolvedConfig, error: unknown): void {
  logger?.warn("The search for runs with a dead process failed.", {
    error: failureCode(error),
  })
}
