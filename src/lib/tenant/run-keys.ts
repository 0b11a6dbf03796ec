import { LonghaulError } from "../../contract/error.ts"
import type { RunKey, Store } from "../../contract/store.ts"
import { newNonce } from "../id.ts"
import { isJsonObject } from "../json.ts"
import { sha256 } from "../sha256.ts"

/**
 * A digest of the store and the workspace. The store is identified by an id that was created once inside it: its path and its
 * address differ between machines, and a copy of it continues the same runs.
 */
export async function tenantOf(store: IdentifiedStore, workspaceId: string): Promise<string> {
  return sha256(JSON.stringify([await storeId(store), workspaceId])).slice(0, 32)
}

/** Names a run among those of all workspaces and stores, for what is kept for it outside its own folder: a relative path. */
export function runScope(tenant: string, { runId }: Pick<RunKey, "runId">): string {
  return `${runId}/${tenant}`
}

/** Identifies a call: the same for every attempt at it, in every process. A run that an older version began keeps its keys. */
export function callKey({ tenant, runId, nodeId, agent }: RunKey, callId: string): string {
  return [tenant, runId, nodeId, agent, callId].filter((part) => part !== undefined).join("/")
}

function storeId(store: IdentifiedStore): Promise<string> {
  let id = ids.get(store)
  if (id === undefined) {
    id = readOrCreateId(store)
    ids.set(store, id)
    // A store that is unavailable now is asked again by the next run.
    id.catch(() => ids.delete(store))
  }
  return id
}

async function readOrCreateId(store: IdentifiedStore): Promise<string> {
  // A store that creates one name twice would have two ids.
  await store.check?.()
  const folder = store.folder(STORE_FOLDER)
  const known = await folder.read(ID_FILE)
  if (known) return parsedId(known, folder.location)
  const id = newNonce()
  const bytes = new TextEncoder().encode(JSON.stringify({ id }))
  const create = () => folder.create(ID_FILE, bytes)
  // Once more, as a journal does after a failed write: the next one may go well.
  if ((await create().catch(create)) === "created") return id
  return parsedId((await folder.read(ID_FILE)) ?? new Uint8Array(), folder.location)
}

function parsedId(bytes: Uint8Array, location: string): string {
  const text = new TextDecoder().decode(bytes)
  const value: unknown = text.startsWith("{") && text.endsWith("}") ? JSON.parse(text) : undefined
  if (isJsonObject(value) && typeof value.id === "string" && /^[0-9a-f]{32}$/.test(value.id)) return value.id
  throw new LonghaulError("storage", `${location}/${ID_FILE} does not contain the id of the store.`, {
    fix: "Restore the file from a backup. Without one, delete it: new runs then get other idempotency keys.",
  })
}

type IdentifiedStore = Pick<Store, "folder" | "check">

const ids = new WeakMap<object, Promise<string>>()
const STORE_FOLDER = ".longhaul"
const ID_FILE = "store.json"
