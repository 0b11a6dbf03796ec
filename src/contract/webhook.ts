/** What can be told of a run. A cancelled one is told to receivers that asked for `failed`, too. */
export type WebhookEvent = "paused" | "done" | "failed" | "cancelled"

/** Who hears of a background run that paused or ended. */
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
  /** Who hears of it. Default: the run's own where it goes on, else the runtime's. */
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

/** What became of telling one event to its receiver. */
export interface WebhookDelivery {
  /** The `webhook-id`: the same for every attempt. */
  readonly id: string
  readonly event: WebhookEvent
  /** Of the record that is told. */
  readonly seq: number
  readonly url: string
  /** `waiting`: a secret or a header is not there. `failed`: no further attempt is made unless somebody asks for it. */
  readonly status: "pending" | "waiting" | "delivered" | "failed"
  /** Unix milliseconds. Present where the status is `pending`. */
  readonly nextAt?: number
  readonly attempts: readonly WebhookAttempt[]
}

export interface WebhookAttempt {
  /** The `longhaul-delivery`: of this attempt alone. */
  readonly delivery: string
  /** From 1; begins again where somebody asked to send it again. */
  readonly attempt: number
  /** `retry`: it may succeed later. `stopped`: it will not. */
  readonly status: "delivered" | "retry" | "stopped"
  /** Absent where no answer came. */
  readonly httpCode?: number
  readonly error?: string
  /** How long the receiver asked us to wait. */
  readonly retryAfterMs?: number
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly endedAt: number
}

/** What a runtime does about webhooks beside sending them. */
export interface WebhookControls {
  /** What was told to whom of a run, event by event, with every attempt. */
  webhookDeliveries(runId: string, options?: { readonly nodeId?: string }): Promise<readonly WebhookDelivery[]>
  /** Tells an event (default: the last one) again, from the first attempt on, under the same `webhook-id`. */
  retryWebhook(runId: string, options?: { readonly nodeId?: string; readonly seq?: number }): Promise<WebhookDelivery>
  /**
   * Goes on with what processes that are gone have not delivered, in the background. Answers of which runs.
   * `recoverOrphanedRuns` does so, too.
   */
  deliverWebhooks(): Promise<readonly { readonly runId: string; readonly nodeId: string }[]>
}
