import type { RecordBody } from "../contract/event.ts"
import type { JsonObject } from "../contract/json.ts"
import type { Folder } from "../contract/store.ts"
import { newNonce } from "../lib/id.ts"
import { isJsonObject } from "../lib/json.ts"
import { createOwn } from "./create-own.ts"
import { inboxName } from "./paths.ts"

/** What somebody who does not own a run asks of its owner. */
export type InboxMessage =
  | { readonly type: "cancel" }
  | { readonly type: "interrupt"; readonly mode: "graceful" | "immediate" }
  | { readonly type: "steer"; readonly text: string }

/**
 * Puts a message where the owner will find it; answers its slot. Post first, THEN read the head: an owner that pauses
 * looks once more after pausing, so either it sees the message or the sender sees the pause.
 */
export async function postMessage(folder: Folder, message: InboxMessage, from = 0): Promise<number> {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...message, nonce: newNonce() }))
  for (let slot = from; ; slot++) if (await createOwn(folder, inboxName(slot), bytes)) return slot
}

/** A slot that holds no message that we know: damaged, or written by something else. It keeps none behind it from being read. */
export interface UnreadableMessage {
  readonly type: "unreadable"
}

/** The message in a slot, if one is there. The fold's `nextInbox` says which slot is next. */
export async function readMessage(folder: Folder, slot: number): Promise<InboxMessage | UnreadableMessage | null> {
  const name = inboxName(slot)
  // Where a store appends, a look costs next to nothing; reading what is not there takes a thread all the same.
  if (folder.append && !(await folder.exists(name))) return null
  const bytes = await folder.read(name)
  if (bytes === null) return null
  return messageIn(new TextDecoder().decode(bytes)) ?? { type: "unreadable" }
}

/** What is on record of a slot that cannot be read: it is not read again. */
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
  return message.type === "cancel"
}
