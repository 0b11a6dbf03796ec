import type { FetchedBody, FetchOptions } from "../contract/env.ts"
import { ToolError } from "../contract/tool.ts"
import type { WebhookAttempt, WebhookEvent } from "../contract/webhook.ts"
import { parseRetryAfter } from "../lib/retry.ts"
import { meaningOf, REQUEST_TIMEOUT_MS } from "./schedule.ts"
import { signWebhook } from "./sign.ts"

/** Sends a body to a URL, if it may be reached; a redirect is a response. Fails like `GuardedFetch`. */
export type WebhookPost = (
  url: string,
  body: string,
  options: FetchOptions,
) => Promise<Pick<FetchedBody, "status" | "retryAfter">>

/** One delivery attempt of an event. */
export interface Sending {
  readonly url: string
  readonly id: string
  readonly event: WebhookEvent
  readonly runId: string
  readonly body: string
  readonly attempt: number
  readonly secrets: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Makes one attempt; null: it was aborted, and its outcome is unknown. */
export async function deliver(sending: Sending, post: WebhookPost): Promise<WebhookAttempt | null> {
  const startedAt = Date.now()
  const delivery = crypto.randomUUID()
  const headers = await headersOf(sending, delivery, startedAt)
  const { url, body, attempt, signal } = sending
  const ended = (rest: Omit<WebhookAttempt, "delivery" | "attempt" | "startedAt" | "endedAt">): WebhookAttempt => ({
    delivery,
    attempt,
    ...rest,
    startedAt,
    endedAt: Date.now(),
  })
  try {
    const answer = await post(url, body, { headers, signal, timeoutMs: REQUEST_TIMEOUT_MS, maxBytes: 0 })
    const retryAfterMs = parseRetryAfter(answer.retryAfter)
    return ended({
      status: meaningOf(answer.status),
      httpCode: answer.status,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    })
  } catch (error) {
    if (signal.aborted) return null
    const known = error instanceof ToolError ? error : new ToolError("io", "It could not be sent.")
    return ended({ status: known.code === "denied" ? "stopped" : "retry", error: known.message })
  }
}

async function headersOf(sending: Sending, delivery: string, now: number): Promise<Record<string, string>> {
  const { id, event, runId, body, secrets } = sending
  const timestamp = String(Math.floor(now / 1000))
  const ours: Record<string, string> = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    ...(secrets.length > 0 && { "webhook-signature": await signWebhook({ id, timestamp, body }, secrets) }),
    "longhaul-event": `status.${event}`,
    "longhaul-run-id": runId,
    "longhaul-delivery": delivery,
  }
  // A receiver that trusts our headers must find our values in them, even if empty.
  const theirs = Object.entries(sending.headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !isOurHeader(name))
  return { ...Object.fromEntries(theirs), ...ours }
}

function isOurHeader(name: string): boolean {
  return name === "content-type" || name.startsWith("webhook-") || name.startsWith("longhaul-")
}
