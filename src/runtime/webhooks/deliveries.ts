import type { RunKey } from "../../contract/store.ts"
import type { RecordedWebhook, WebhookAttempt, WebhookDelivery } from "../../contract/webhook.ts"
import { runPath } from "../../journal/paths.ts"
import { loadRun } from "../../runs/read-runs.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { InlineValues } from "../../webhooks/check.ts"
import {
  type OutboxEntry,
  readOutbox,
  type SubscribedEvent,
  standingOf,
  subscribedEvents,
  webhookId,
} from "../../webhooks/outbox.ts"

/** Returns the secrets and headers that this process has in memory for a receiver. */
export type InlineOf = (webhook: RecordedWebhook) => InlineValues | undefined

/** Reads the webhook deliveries of a run from its journal and outbox. */
export async function readDeliveries(
  config: ResolvedConfig,
  key: RunKey,
  inlineOf: InlineOf,
): Promise<WebhookDelivery[]> {
  const found = await loadRun(config, key)
  const run = { ...key, tenant: found?.projection.tenant }
  return Promise.all(
    subscribedEvents(found?.records ?? []).map((subscribed) => readDelivery(config, run, subscribed, inlineOf)),
  )
}

/** `key`: with the run's tenant. */
export async function readDelivery(
  config: ResolvedConfig,
  key: RunKey,
  subscribed: SubscribedEvent,
  inlineOf: InlineOf,
): Promise<WebhookDelivery> {
  const { webhook, event, seq } = subscribed
  const entries = await readOutbox(config.store.folder(runPath(key)), seq)
  const { status, since, delayMs } = standingOf(subscribed, entries)
  const isWaiting = status === "pending" && config.webhooks.resolve(webhook, inlineOf(webhook)) === null
  return {
    id: webhookId(config.digest, key, subscribed),
    event,
    seq,
    url: webhook.url,
    status: isWaiting ? "waiting" : status,
    ...(status === "pending" && !isWaiting && { nextAt: since + delayMs }),
    attempts: entries.flatMap(attemptIn),
  }
}

function attemptIn(entry: OutboxEntry): WebhookAttempt[] {
  if (entry.type !== "attempt") return []
  const { type: _, round: __, ...attempt } = entry
  return [attempt]
}
