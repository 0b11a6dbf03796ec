import { LonghaulError } from "../contract/error.ts"
import type { Folder } from "../contract/store.ts"
import { equalBytes } from "../lib/bytes.ts"

/**
 * Creates a file even if responses are lost: the same bytes are sent again until the outcome is known. An existing file is ours
 * exactly if it contains these bytes. Returns false if another process created it.
 */
export async function createOwn(folder: Folder, name: string, bytes: Uint8Array): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      if ((await folder.create(name, bytes)) === "created") return true
      const found = await folder.read(name)
      if (found !== null) return equalBytes(found, bytes)
      if (attempt >= CREATE_RETRIES) throw unreadable(name)
    } catch (error) {
      if (attempt >= CREATE_RETRIES || !mayPass(error)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, CREATE_BACKOFF_MS * 2 ** attempt))
  }
}

/** An error that is marked as not retryable is not retried. */
function mayPass(error: unknown): boolean {
  return !LonghaulError.is(error) || error.retryable
}

function unreadable(name: string): LonghaulError {
  return new LonghaulError("storage", `${name} exists and cannot be read.`, {
    fix: "Check the store's permissions, then resume the run.",
  })
}

const CREATE_RETRIES = 5
const CREATE_BACKOFF_MS = 50
