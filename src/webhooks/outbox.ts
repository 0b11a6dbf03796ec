import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Folder, RunKey } from "../contract/store.ts"
import type { RecordedWebhook, WebhookAttempt, WebhookEvent } from "../contract/webhook.ts"
import { equalBytes } from "../lib/bytes.ts"
import { canonicalJson, isJsonObject } from "../lib/json.ts"
import { delayAfter } from "./schedule.ts"

/** An event to deliver to a receiver. */
export interface SubscribedEvent {
  /** Of the reported record. */
  readonly seq: number
  readonly at: number
  readonly event: WebhookEvent
  readonly webhook: RecordedWebhook
}

/** The pending events: every pause and end of a part of the run whose start subscribes to them. */
export function subscribedEvents(records: readonly RunRecord[]): SubscribedEvent[] {
  const owed: SubscribedEvent[] = []
  let webhook: RecordedWebhook | undefined
  for (const record of records) {
    if (record.type === "run-start" || record.type === "run-resume") webhook = record.webhook
    const event = eventOf(record)
    if (event === undefined || webhook === undefined || !wants(webhook, event)) continue
    owed.push({ seq: record.seq, at: record.at, event, webhook })
  }
  return owed
}

function eventOf(record: RunRecord): WebhookEvent | undefined {
  // A released run needs nothing from anyone: another process resumes it.
  if (record.type === "run-pause") return record.reason === "released" ? undefined : "paused"
  return record.type === "run-end" ? record.status : undefined
}

function wants({ events }: RecordedWebhook, event: WebhookEvent): boolean {
  return events.includes(event) || (event === "cancelled" && events.includes("failed"))
}

/** The same in every process, and globally unique. A run that an older version began keeps its ids. */
export function webhookId(
  digest: (text: string) => string,
  { tenant, workspaceId, runId, nodeId }: RunKey,
  { seq, at }: SubscribedEvent,
): string {
  return `msg_${digest(canonicalJson([tenant ?? workspaceId, runId, nodeId, seq, at])).slice(0, 32)}`
}

/** An outbox entry of an event: the result of an attempt, or a request to restart the attempts. */
export type OutboxEntry =
  | ({ readonly type: "attempt"; readonly round: number } & WebhookAttempt)
  | { readonly type: "again"; readonly at: number; readonly nonce: string }

/** The delivery state of an event. */
export interface Standing {
  readonly status: "pending" | "delivered" | "failed"
  /** Number of restarts. */
  readonly round: number
  /** The number of the next attempt. */
  readonly attempt: number
  /** The delay before it, and its start time. */
  readonly delayMs: number
  readonly since: number
}

/** Two processes may have made the same attempt: both are recorded, and count once. */
export function standingOf({ at }: SubscribedEvent, entries: readonly OutboxEntry[]): Standing {
  let standing: Standing = { ...fresh, round: 0, since: at }
  for (const entry of entries) {
    if (entry.type === "again") standing = { ...fresh, round: standing.round + 1, since: entry.at }
    // Attempts that were in progress at the restart do not belong to it.
    else if (entry.round < standing.round) continue
    else if (entry.status === "delivered") standing = { ...standing, status: "delivered" }
    else if (standing.status === "pending" && entry.attempt >= standing.attempt) standing = after(standing, entry)
  }
  return standing
}

const fresh = { status: "pending", attempt: 1, delayMs: 0 } as const

function after({ round }: Standing, failed: WebhookAttempt): Standing {
  const delayMs = failed.status === "retry" ? delayAfter(failed) : null
  const next = { round, attempt: failed.attempt + 1, delayMs: delayMs ?? 0, since: failed.endedAt }
  return { status: delayMs === null ? "failed" : "pending", ...next }
}

export async function readOutbox(folder: Folder, seq: number): Promise<OutboxEntry[]> {
  const entries: OutboxEntry[] = []
  for (;;) {
    const name = outboxName(seq, entries.length)
    const bytes = await folder.read(name)
    if (bytes === null) return entries
    const entry: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (!isEntry(entry))
      throw new LonghaulError("storage", `${folder.location}/${name} does not contain a delivery attempt.`)
    entries.push(entry)
  }
}

/** Adds an entry after the existing ones. Written after sending, never before: it is not a claim. */
export async function addToOutbox(folder: Folder, seq: number, entry: OutboxEntry, from: number): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(entry))
  for (let slot = from; ; slot++) {
    const name = outboxName(seq, slot)
    if ((await folder.create(name, bytes)) === "created") return
    const found = await folder.read(name)
    if (found && equalBytes(found, bytes)) return
  }
}

function outboxName(seq: number, slot: number): string {
  return `outbox/${String(seq).padStart(6, "0")}-${String(slot).padStart(3, "0")}.json`
}

/** Files appear complete and only we write them: checking their type is enough. */
function isEntry(entry: unknown): entry is OutboxEntry {
  return isJsonObject(entry) && (entry.type === "attempt" || entry.type === "again")
}
