import { LonghaulError } from "../../contract/error.ts"
import type { Store } from "../../contract/store.ts"
import { checkedId } from "../../lib/id.ts"
import { formatOf, type KnowledgeFormat } from "./formats.ts"
import { INDEX_NAME, isSafeName, shownRef } from "./refs.ts"

/** The folder of a workspace that holds its knowledge. */
export interface KnowledgePlace {
  readonly store: KnowledgeStore
  /** The path of the folder in the store. */
  readonly root: string
}

export type KnowledgeStore = Pick<Store, "folder" | "list" | "within">

/** The files of a base: no link leads out of it, for example to the knowledge of another tenant. */
export function storeOf({ store, root }: KnowledgePlace, base: string): Pick<Store, "folder" | "list"> {
  return store.within?.(`${root}/${base}`) ?? store
}

export function placeIn(store: KnowledgeStore, workspaceId = "default"): KnowledgePlace {
  return { store, root: `workspaces/${checkedId("workspaceId", workspaceId)}/knowledge` }
}

/** A document of a base. */
export interface KnowledgeFile {
  /** Relative to the base. */
  readonly path: string
  readonly format: KnowledgeFormat
}

/** The bases, by name. A base without documents is not among them. */
export async function listBases(
  place: KnowledgePlace,
  folders: readonly string[] | undefined,
  warn: (message: string) => void,
): Promise<ReadonlyMap<string, readonly KnowledgeFile[]>> {
  const scope = folders ?? (await place.store.list(place.root)).filter((name) => isListed(name, warn))
  const found = new Map<string, KnowledgeFile[]>()
  for (const folder of scope) {
    const [base = "", ...rest] = folder.split("/")
    const files = await filesUnder(place, base, rest.join("/"), warn)
    const known = found.get(base) ?? []
    const added = files.filter(({ path }) => !known.some((file) => file.path === path))
    if (known.length + added.length > 0) found.set(base, [...known, ...added])
  }
  return found
}

/** All documents of a base below a folder, which is empty for the whole base. */
export async function filesUnder(
  place: KnowledgePlace,
  base: string,
  folder: string,
  warn: (message: string) => void,
  depth = 0,
): Promise<readonly KnowledgeFile[]> {
  if (depth > MAX_DEPTH) {
    warn(`Knowledge below ${base}/${folder} is nested more than ${MAX_DEPTH} folders deep and not used.`)
    return []
  }
  const files: KnowledgeFile[] = []
  const below = folder === "" ? base : `${base}/${folder}`
  for (const name of await storeOf(place, base).list(`${place.root}/${below}`)) {
    if (name === INDEX_NAME || !isListed(name, warn)) continue
    const path = folder === "" ? name : `${folder}/${name}`
    const format = formatOf(name)
    if (format !== undefined) files.push({ path, format })
    // A store does not distinguish files from folders: an empty one is not a folder.
    else files.push(...(await filesUnder(place, base, path, warn, depth + 1)))
  }
  return files
}

/** The bytes of a document. */
export async function readDocument(place: KnowledgePlace, base: string, path: string): Promise<Uint8Array> {
  const folders = path.split("/")
  const name = folders.pop() ?? ""
  const bytes = await storeOf(place, base)
    .folder([place.root, base, ...folders].join("/"))
    .read(name)
  if (bytes !== null && bytes.length <= MAX_DOCUMENT_BYTES) return bytes
  const reason = bytes === null ? "is no longer there" : `has more than ${MAX_DOCUMENT_BYTES} bytes`
  throw new LonghaulError("not_found", `${base}/${path} ${reason}.`, {
    fix: bytes === null ? "Search again." : "Split it into smaller documents.",
  })
}

function isListed(name: string, warn: (message: string) => void): boolean {
  if (isSafeName(name)) return true
  // Hidden files are left out on purpose.
  if (!name.startsWith(".")) warn(`${shownRef(name)} is not a safe name, so the knowledge does not include it.`)
  return false
}

const MAX_DEPTH = 20
/** Also of external documents. */
export const MAX_DOCUMENT_BYTES = 20 * 1024 * 1024
