/** Receivers of `failed` also get `cancelled`. */
export type WebhookEvent = "paused" | "done" | "failed" | "cancelled"

/** The receiver of the events of a background run. */
export interface Webhook {
  /** `http` or `https`, without a user or a password. It is kept with the run: put no secret into it. */
  readonly url: string
  /** Default: paused, done and failed. */
  readonly events?: readonly WebhookEvent[]
  /** Names in `secrets`; each signs, so that a receiver can change from one to the next. Looked up when it is sent. */
  readonly secretRef?: string | readonly string[]
  /** In memory only: another process cannot send what it would sign, until it is given the same. */
  readonly secret?: string | readonly string[]
  /** In memory only, like `secret`. Cannot replace ours. */
  readonly headers?: Readonly<Record<string, string>>
  /** The name in `secrets` for each header. */
  readonly headerRefs?: Readonly<Record<string, string>>
}

export interface WithWebhook {
  /** Default: that of the run which is resumed, else that of the runtime. */
  readonly webhook?: Webhook
}

/** A webhook as the journal keeps it: no value that may be secret. */
export interface RecordedWebhook {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly secretRef?: readonly string[]
  readonly headerRefs?: Readonly<Record<string, string>>
  /** What was given in memory only: nothing is sent without it. */
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
  /** Unix milliseconds. Present where the status is `pending`. */
  readonly nextAt?: number
  readonly attempts: readonly WebhookAttempt[]
}

export interface WebhookAttempt {
  /** The `longhaul-delivery`: of this attempt alone. */
  readonly delivery: string
  /** From 1; starts again with `retryWebhook`. */
  readonly attempt: number
  /** `retry`: it may succeed later. `stopped`: it will not. */
  readonly status: "delivered" | "retry" | "stopped"
  /** Absent where no response came. */
  readonly httpCode?: number
  readonly error?: string
  /** The wait that the receiver asked for. */
  readonly retryAfterMs?: number
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
}

/** The part of a runtime that looks after webhooks. */
export interface WebhookControls {
  /** The events of a run that were sent or are still to be sent, with every attempt. */
  webhookDeliveries(runId: string, options?: { readonly nodeId?: string }): Promise<readonly WebhookDelivery[]>
  /** Sends an event (default: the last one) again, from the first attempt on, under the same `webhook-id`. */
  retryWebhook(runId: string, options?: { readonly nodeId?: string; readonly seq?: number }): Promise<WebhookDelivery>
  /**
   * Sends what dead processes have not delivered, in the background. Returns the runs. `recoverOrphanedRuns` does so, too.
   */
  deliverWebhooks(): Promise<readonly { readonly runId: string; readonly nodeId: string }[]>
}
