import { rm } from "node:fs/promises"

/** Tries again where a killed process was still writing. */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 })
}
