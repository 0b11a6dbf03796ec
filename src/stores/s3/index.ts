import { LonghaulError } from "../../contract/error.ts"
import type { Folder, Store } from "../../contract/store.ts"
import { createClient } from "./client.ts"
import { bucketObjects, type Objects } from "./objects.ts"
import { resolveOptions, type S3StoreOptions } from "./options.ts"
import { probeConditions } from "./probe.ts"

export type { S3StoreOptions }

/**
 * Stores runs in a bucket of S3, R2 or any store with conditional writes, with one object per flush. Before the first create, it
 * verifies that the store creates a name only once.
 */
export function s3Store(options: S3StoreOptions): Store {
  const resolved = resolveOptions(options)
  const { bucket, prefix, accessKeyId, secretAccessKey, sessionToken = "" } = resolved
  const objects = bucketObjects(createClient(resolved))
  const location = `s3://${bucket}/${prefix}`.replace(/\/$/, "")

  let checked: Promise<void> | undefined
  const check = (): Promise<void> => {
    checked ??= probeConditions(objects, prefix).catch((error: unknown) => {
      // Only a conclusive result is kept; after any other failure the next call probes again.
      if (!LonghaulError.is(error) || error.code !== "config_invalid") checked = undefined
      throw error
    })
    return checked
  }

  return {
    location,
    credentials: () => ({ accessKeyId, secretAccessKey, sessionToken }),
    check,
    folder: (path) => bucketFolder(objects, `${prefix}${path}/`, `${location}/${path}`, check),
    list: (path, part) => objects.list(`${prefix}${path}/`, part),
  }
}

function bucketFolder(objects: Objects, at: string, location: string, check: () => Promise<void>): Folder {
  return {
    location,
    read: (name) => objects.read(at + name),
    exists: (name) => objects.exists(at + name),
    list: () => objects.list(at),
    async create(name, bytes) {
      await check()
      return objects.create(at + name, bytes)
    },
    replace: (name, bytes) => objects.replace(at + name, bytes),
    delete: (name) => objects.delete(at + name),
  }
}
