import type { Folder } from "../../contract/store.ts"
import { createOwn } from "../../journal/create-own.ts"
import { isJsonObject } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"

/** A result as it is stored next to its run. */
export interface Blob {
  readonly callId: string
  readonly tool: string
  readonly text: string
}

/**
 * Stores a result durably, and returns the attempt that its record has to name. A file of an earlier attempt at the call is
 * used if it has the same content, and otherwise left alone: the process that wrote it may still be running.
 */
export async function storeBlob(folder: Folder, { callId, tool, text }: Blob): Promise<number> {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: 1, callId, tool, text }))
  return storeBytes(folder, callId, bytes, 0)
}

/** Copies a result to the folder of another run. Returns the attempt there; undefined if there is nothing to copy. */
export async function copyBlob(from: Folder, to: Folder, callId: string, attempt: number): Promise<number | undefined> {
  const bytes = await from.read(blobName(callId, attempt))
  return bytes === null ? undefined : storeBytes(to, callId, bytes, attempt)
}

/** The text of a stored result; undefined if the file is absent or damaged. */
export async function readBlob(folder: Folder, callId: string, attempt: number): Promise<string | undefined> {
  const bytes = await folder.read(blobName(callId, attempt))
  if (bytes === null) return undefined
  try {
    const blob: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isJsonObject(blob) && blob.callId === callId && typeof blob.text === "string" ? blob.text : undefined
  } catch {
    return undefined
  }
}

/** A vendor's id may be any text: one that is not a plain name is replaced by its digest. */
function blobName(callId: string, attempt: number): string {
  const name = plainName.test(callId) && !callId.includes("..") ? callId : `id-${sha256(callId).slice(0, 32)}`
  return `toolResults/${name}${attempt === 0 ? "" : `~${attempt}`}.json`
}

async function storeBytes(folder: Folder, callId: string, bytes: Uint8Array, first: number): Promise<number> {
  let attempt = first
  while (!(await createOwn(folder, blobName(callId, attempt), bytes))) attempt++
  return attempt
}

const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
