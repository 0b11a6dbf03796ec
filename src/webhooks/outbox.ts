import { LonghaulError } from "../contract/error.ts"
import type { RunRecord } from "../contract/event.ts"
import type { Folder } from "../contract/store.ts"
import type { RecordedWebhook, WebhookAttempt, WebhookEvent } from "../contract/webhook.ts"
import { equalBytes } from "../lib/bytes.ts"
import { canonicalJson, isJsonObject } from "../lib/json.ts"
import { delayAfter } from "./schedule.ts"

/** An event that a receiver is to hear of. */
export interface OwedEvent {
  /** Of the record that is told. */
  readonly seq: number
  readonly at: number
  readonly event: WebhookEvent
  readonly webhook: RecordedWebhook
}

/** What is owed to receivers: every pause and every end of a stretch of the run whose beginning asks for it. */
export function owedEvents(records: readonly RunRecord[]): OwedEvent[] {
  const owed: OwedEvent[] = []
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

/** The same in every process, and of no other event anywhere. */
export function webhookId(
  digest: (text: string) => string,
  run: { readonly workspaceId: string; readonly runId: string; readonly nodeId: string },
  { seq, at }: OwedEvent,
): string {
  return `msg_${digest(canonicalJson([run.workspaceId, run.runId, run.nodeId, seq, at])).slice(0, 32)}`
}

/** What an outbox holds of an event: how an attempt ended, or that somebody wants the attempts to begin again. */
export type OutboxEntry =
  | ({ readonly type: "attempt"; readonly round: number } & WebhookAttempt)
  | { readonly type: "again"; readonly at: number; readonly nonce: string }

/** Where an event stands. */
export interface Standing {
  readonly status: "pending" | "delivered" | "failed"
  /** How often the attempts were begun again. */
  readonly round: number
  /** The number of the next attempt. */
  readonly attempt: number
  /** How long to wait for it, and since when. */
  readonly delayMs: number
  readonly since: number
}

/** Two processes may have made the same attempt: both are on record, and count once. */
export function standingOf({ at }: OwedEvent, entries: readonly OutboxEntry[]): Standing {
  let standing: Standing = { ...fresh, round: 0, since: at }
  for (const entry of entries) {
    if (entry.type === "again") standing = { ...fresh, round: standing.round + 1, since: entry.at }
    // What was under way when somebody asked for more is not what they asked for.
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

/** Puts an entry behind those that are there. Written after the send, never before: it is no claim. */
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

/** Files appear whole and only we write them: their kind is all that needs to be known. */
function isEntry(entry: unknown): entry is OutboxEntry {
  return isJsonObject(entry) && (entry.type === "attempt" || entry.type === "again")
}
