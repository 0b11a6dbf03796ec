import type { RecordBody } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Folder } from "../contract/store.ts"
import { newNonce } from "../lib/id.ts"
import { isJsonObject } from "../lib/json.ts"
import { createOwn } from "./create-own.ts"
import { inboxName } from "./paths.ts"

/** A request of another process to the owner of a run. */
export type InboxMessage =
  | { readonly type: "cancel" }
  | { readonly type: "interrupt"; readonly mode: "graceful" | "immediate" }
  | { readonly type: "steer"; readonly text: string }
  | { readonly type: "compact" }

/**
 * Writes a message to the inbox and returns its slot. The sender must read the head AFTER posting: an owner that pauses checks
 * its inbox once more afterwards, so either the owner sees the message or the sender sees the pause.
 */
export async function postMessage(folder: Folder, message: InboxMessage, from = 0): Promise<number> {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...message, nonce: newNonce() }))
  for (let slot = from; ; slot++) if (await createOwn(folder, inboxName(slot), bytes)) return slot
}

/** A damaged or foreign file in a slot. Later messages are still read. */
export interface UnreadableMessage {
  readonly type: "unreadable"
}

/** Reads the message in a slot; null if the slot is empty. The next unread slot is `RunProjection.nextInbox`. */
export async function readMessage(folder: Folder, slot: number): Promise<InboxMessage | UnreadableMessage | null> {
  const name = inboxName(slot)
  // On append stores an existence check is nearly free, while reading a missing file occupies a thread.
  if (folder.append && !(await folder.exists(name))) return null
  const bytes = await folder.read(name)
  if (bytes === null) return null
  return messageIn(new TextDecoder().decode(bytes)) ?? { type: "unreadable" }
}

/** The record of an unreadable slot, so that it is not read again. */
export function skipped(inbox: number): RecordBody {
  const message = `The message ${inboxName(inbox)} cannot be read and was skipped.`
  return { type: "warning", code: "inbox_unreadable", message, inbox }
}

function messageIn(text: string): InboxMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const { nonce: _, ...message } = value
  return isMessage(message) ? message : undefined
}

function isMessage(message: JsonObject): message is JsonObject & InboxMessage {
  if (message.type === "steer") return typeof message.text === "string"
  if (message.type === "interrupt") return message.mode === "graceful" || message.mode === "immediate"
  return message.type === "cancel" || message.type === "compact"
}
