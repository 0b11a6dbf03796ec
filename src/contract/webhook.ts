/** Receivers of `failed` also get `cancelled`. */
export type WebhookEvent = "paused" | "done" | "failed" | "cancelled"

/** The receiver of the events of a background run. */
export interface Webhook {
  /** `http` or `https`, without a user or password. It is stored with the run: do not put a secret in it. */
  readonly url: string
  /** Default: paused, done and failed. */
  readonly events?: readonly WebhookEvent[]
  /** Names in `secrets`; each signs, so that a receiver can rotate secrets. Looked up at sending time. */
  readonly secretRef?: string | readonly string[]
  /** In memory only: another process cannot sign until it is passed the same value. */
  readonly secret?: string | readonly string[]
  /** In memory only, like `secret`. Cannot replace ours. */
  readonly headers?: Readonly<Record<string, string>>
  /** The name in `secrets` for each header. */
  readonly headerRefs?: Readonly<Record<string, string>>
}

export interface WithWebhook {
  /** Default: the webhook of the resumed run, else of the runtime. */
  readonly webhook?: Webhook
}

/** A webhook as stored in the journal: no value that may be secret. */
export interface RecordedWebhook {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly secretRef?: readonly string[]
  readonly headerRefs?: Readonly<Record<string, string>>
  /** Values that were passed in memory only: nothing is sent without them. */
  readonly inline?: readonly ("secret" | "headers")[]
}

/** The delivery of one event. */
export interface WebhookDelivery {
  /** The `webhook-id`: the same for every attempt. */
  readonly id: string
  readonly event: WebhookEvent
  /** The record that the event reports. */
  readonly seq: number
  readonly url: string
  /** `waiting`: a secret or a header is missing. `failed`: no further attempt is made except by `retryWebhook`. */
  readonly status: "pending" | "waiting" | "delivered" | "failed"
  /** Unix milliseconds. Present if the status is `pending`. */
  readonly nextAt?: number
  readonly attempts: readonly WebhookAttempt[]
}

export interface WebhookAttempt {
  /** The `longhaul-delivery`: unique to this attempt. */
  readonly delivery: string
  /** From 1; starts again with `retryWebhook`. */
  readonly attempt: number
  /** `retry`: it may succeed later. `stopped`: it will not. */
  readonly status: "delivered" | "retry" | "stopped"
  /** Absent without a response. */
  readonly httpCode?: number
  readonly error?: string
  /** The wait time requested by the receiver. */
  readonly retryAfterMs?: number
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
}

/** The webhook methods of a runtime. */
export interface WebhookControls {
  /** The sent and pending events of a run, with every attempt. */
  webhookDeliveries(runId: string, options?: { readonly nodeId?: string }): Promise<readonly WebhookDelivery[]>
  /** Sends an event (default: the last one) again, from the first attempt on, under the same `webhook-id`. */
  retryWebhook(runId: string, options?: { readonly nodeId?: string; readonly seq?: number }): Promise<WebhookDelivery>
  /**
   * Delivers pending events of dead processes in the background. Returns the runs. `recoverOrphanedRuns` does so, too.
   */
  deliverWebhooks(): Promise<readonly { readonly runId: string; readonly nodeId: string }[]>
}
