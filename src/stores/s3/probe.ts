import { LonghaulError, StartupError } from "../../contract/error.ts"
import { equalBytes } from "../../lib/bytes.ts"
import { newNonce } from "../../lib/id.ts"
import { patiently } from "./client.ts"
import type { Objects } from "./objects.ts"

/**
 * Refuses a store that does not hold to `If-None-Match: *`. On such a store two processes would both own a run, so this is
 * found out on a name of our own before the first one is opened.
 */
export async function probeConditions(objects: Objects, prefix: string): Promise<void> {
  const key = `${prefix}.longhaul-probe/${newNonce()}`
  const first = new TextEncoder().encode(`first ${newNonce()}`)
  const second = new TextEncoder().encode(`second ${newNonce()}`)
  try {
    await patiently(() => objects.create(key, first))
    const answer = await patiently(() => objects.create(key, second), ATTEMPTS)
    const found = await objects.read(key)
    if (answer === "created") throw ignored("said of one name twice that it was created")
    if (found === null || !equalBytes(found, first)) throw ignored("did not keep what was created first")
  } catch (error) {
    throw isUnknownCondition(error) ? ignored("does not know the condition") : error
  } finally {
    // One small object is left where deleting is not allowed.
    await objects.delete(key).catch(() => {})
  }
}

/** R2 takes one write a second to a name, and says 429 to the next. */
const ATTEMPTS = 7

function isUnknownCondition(error: unknown): boolean {
  if (!LonghaulError.is(error)) return false
  return typeof error.data === "object" && error.data !== null && "status" in error.data && error.data.status === 501
}

function ignored(what: string): StartupError {
  return new StartupError(`The store cannot hold runs: it ${what}, so two processes could own one run at once.`, {
    fix: "Use a store that keeps to `If-None-Match: *` on PUT: S3, R2, or a current MinIO.",
  })
}
