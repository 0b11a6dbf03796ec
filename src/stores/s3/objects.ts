import { LonghaulError } from "../../contract/error.ts"
import type { ListPart } from "../../contract/store.ts"
import { partOf } from "../../lib/list-part.ts"
import { type Call, patiently } from "./client.ts"
import { errorCode, refused, type S3Response } from "./failure.ts"
import { PART_BYTES, uploadInParts } from "./multipart.ts"
import { type ListedPage, readListing } from "./xml.ts"

/** The bucket operations of a store, by full key. */
export interface Objects {
  read(key: string): Promise<Uint8Array | null>
  exists(key: string): Promise<boolean>
  /** Lists the names directly under a prefix, which ends in a slash. */
  list(prefix: string, part?: ListPart): Promise<readonly string[]>
  /** Makes one attempt: only the caller can interpret a lost response, and may retry only with the same bytes. */
  create(key: string, bytes: Uint8Array): Promise<"created" | "exists">
  replace(key: string, bytes: Uint8Array): Promise<void>
  delete(key: string): Promise<void>
}

export function bucketObjects(call: Call): Objects {
  return {
    async read(key) {
      const doing = `read ${nameOf(key)}`
      const answer = await patiently(() => call(doing, { method: "GET", key }, [404]))
      return isMissing(doing, answer) ? null : answer.body
    },
    async exists(key) {
      const doing = `look for ${nameOf(key)}`
      const answer = await patiently(() => call(doing, { method: "HEAD", key }, [404]))
      return !isMissing(doing, answer)
    },
    list: (prefix, part) => listNames(call, prefix, part),
    async create(key, bytes) {
      const headers = { "if-none-match": "*" }
      const doing = `create ${nameOf(key)}`
      const { status } = await call(doing, { method: "PUT", key, headers, body: bytes }, [412])
      return status === 412 ? "exists" : "created"
    },
    async replace(key, bytes) {
      const doing = `write ${nameOf(key)}`
      if (bytes.length > PART_BYTES) return uploadInParts(call, doing, key, bytes)
      await patiently(() => call(doing, { method: "PUT", key, body: bytes }))
    },
    async delete(key) {
      const doing = `delete ${nameOf(key)}`
      isMissing(doing, await patiently(() => call(doing, { method: "DELETE", key }, [404])))
    },
  }
}

/** Throws if the bucket is missing, which must not be mistaken for an empty bucket. */
function isMissing(doing: string, answer: S3Response): boolean {
  if (answer.status !== 404) return false
  if (errorCode(answer) === "NoSuchBucket") throw refused(doing, answer)
  return true
}

async function listNames(call: Call, prefix: string, part: ListPart = {}): Promise<readonly string[]> {
  const { limit = Number.POSITIVE_INFINITY } = part
  if (limit <= 0) return []
  const names = new Set<string>()
  let page: ListedPage | undefined
  let last = ""
  do {
    page = await patiently(() => listPage(call, prefix, part, page?.next))
    for (const key of page.names) {
      const name = key.slice(prefix.length).split("/", 1)[0]
      if (!key.startsWith(prefix)) continue
      // Consoles create an object with the name of the prefix to show it as a folder.
      if (name) names.add(name)
      const rest = key.slice(prefix.length)
      if (rest > last) last = rest
    }
    if (names.size >= limit) {
      const wanted = partOf([...names].sort(), part)
      const end = wanted[limit - 1]
      if (end !== undefined && !mayFollow(end, last)) return wanted
    }
  } while (page.next !== undefined)
  return partOf([...names].sort(), part)
}

/**
 * True if a later page may contain a name that sorts before this one. Buckets sort folders with their slash, so only a folder
 * whose name is a prefix of this one can follow: `a-b/` comes before `a/`.
 */
function mayFollow(name: string, last: string): boolean {
  for (let length = 1; length < name.length; length++) if (`${name.slice(0, length)}/` > last) return true
  return false
}

async function listPage(
  call: Call,
  prefix: string,
  { after, limit }: ListPart,
  next: string | undefined,
): Promise<ListedPage> {
  const query = {
    "list-type": "2",
    delimiter: "/",
    prefix,
    ...(after !== undefined && next === undefined && { "start-after": `${prefix}${after}` }),
    // One more name is requested, because a folder named `after` sorts after the object `after`.
    ...(limit !== undefined && limit < MAX_PAGE_SIZE && { "max-keys": String(limit + 1) }),
    ...(next !== undefined && { "continuation-token": next }),
  }
  const { body } = await call("list a folder", { method: "GET", query })
  const page = readListing(new TextDecoder().decode(body))
  if (page !== null) return page
  throw new LonghaulError("storage", "Could not list a folder: the response is not a complete listing.", {
    fix: "Check that endpoint is the address of an S3 store.",
  })
}

const MAX_PAGE_SIZE = 1000

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1)
}
