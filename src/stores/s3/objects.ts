import { LonghaulError } from "../../contract/error.ts"
import { type Call, patiently } from "./client.ts"
import { type Answer, codeOf, refused } from "./failure.ts"
import { PART_BYTES, uploadInParts } from "./multipart.ts"
import { type ListedPage, readListing } from "./xml.ts"

/** What a store needs of a bucket, by whole keys. */
export interface Objects {
  read(key: string): Promise<Uint8Array | null>
  exists(key: string): Promise<boolean>
  /** Names directly under a prefix that ends in a slash. */
  list(prefix: string): Promise<readonly string[]>
  /** Tried once: whoever creates knows what a lost answer means, and that only the same bytes may be tried again. */
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
    list: (prefix) => listAll(call, prefix),
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

/** A bucket that is not there must not pass for one that holds nothing. */
function isMissing(doing: string, answer: Answer): boolean {
  if (answer.status !== 404) return false
  if (codeOf(answer) === "NoSuchBucket") throw refused(doing, answer)
  return true
}

async function listAll(call: Call, prefix: string): Promise<readonly string[]> {
  const names = new Set<string>()
  let page: ListedPage | undefined
  do {
    page = await patiently(() => listPage(call, prefix, page?.next))
    for (const key of page.names) {
      const name = key.slice(prefix.length).split("/", 1)[0]
      // Consoles make an object of the prefix's own name to show it as a folder.
      if (key.startsWith(prefix) && name) names.add(name)
    }
  } while (page.next !== undefined)
  return [...names].sort()
}

async function listPage(call: Call, prefix: string, next: string | undefined): Promise<ListedPage> {
  const query = { "list-type": "2", delimiter: "/", prefix, ...(next !== undefined && { "continuation-token": next }) }
  const { body } = await call("list a folder", { method: "GET", query })
  const page = readListing(new TextDecoder().decode(body))
  if (page !== null) return page
  throw new LonghaulError("storage", "Could not list a folder: the answer is not a whole listing.", {
    fix: "Check that endpoint is the address of an S3 store.",
  })
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1)
}
