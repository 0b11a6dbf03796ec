import { LonghaulError, StartupError } from "../../contract/error.ts"
import { equalBytes } from "../../lib/bytes.ts"
import { newNonce } from "../../lib/id.ts"
import { patiently } from "./client.ts"
import type { Objects } from "./objects.ts"

/**
 * Rejects a store that ignores `If-None-Match: *`. On such a store two processes could both own a run, so this is tested with a
 * temporary object before the first run is opened.
 */
export async function probeConditions(objects: Objects, prefix: string): Promise<void> {
  const key = `${prefix}.longhaul-probe/${newNonce()}`
  const first = new TextEncoder().encode(`first ${newNonce()}`)
  const second = new TextEncoder().encode(`second ${newNonce()}`)
  try {
    await patiently(() => objects.create(key, first))
    const answer = await patiently(() => objects.create(key, second), ATTEMPTS)
    const found = await objects.read(key)
    if (answer === "created") throw ignored("reported the same name as created twice")
    if (found === null || !equalBytes(found, first)) throw ignored("did not keep the object that was created first")
  } catch (error) {
    throw isUnknownCondition(error) ? ignored("does not support the condition") : error
  } finally {
    // Without permission to delete, one small object is left.
    await objects.delete(key).catch(() => {})
  }
}

/** R2 accepts one write per second to a name, and responds to further ones with 429. */
const ATTEMPTS = 7

function isUnknownCondition(error: unknown): boolean {
  if (!LonghaulError.is(error)) return false
  return typeof error.data === "object" && error.data !== null && "status" in error.data && error.data.status === 501
}

function ignored(what: string): StartupError {
  return new StartupError(`The store cannot hold runs: it ${what}, so two processes could own one run at once.`, {
    fix: "Use a store that supports `If-None-Match: *` on PUT: S3, R2, or a current MinIO.",
  })
}
