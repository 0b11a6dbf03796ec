import { mkdir, open, readFile, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { TokenStore } from "../../../contract/backend-env.ts"
import { errnoOf } from "../errno.ts"
import { writePrivateFile } from "../files/private-file.ts"

/** Tokens in files that only this user can read. A reader never sees a partial file. */
export function fileTokens(folder: string): TokenStore {
  const path = (key: string) => join(folder, `${key.replace(/[^A-Za-z0-9_-]/g, "_")}.json`)
  return {
    async read(key) {
      try {
        return await readFile(path(key), "utf8")
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return undefined
        throw error
      }
    },
    write: (key, value) => writePrivateFile(path(key), value),
    delete: (key) => rm(path(key), { force: true }),
    exclusively: (key, work) => locked(`${path(key)}.lock`, work),
  }
}

/** A file that only one process can create. One that a dead process left is removed after a while. */
async function locked<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  while (!(await isCreated(path))) {
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > STALE_MS) await rm(path, { force: true })
    else await pause(POLL_MS)
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

async function isCreated(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", 0o600)).close()
    return true
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false
    throw error
  }
}

const POLL_MS = 25
/** Longer than a request to an authorization server takes. */
const STALE_MS = 60_000
