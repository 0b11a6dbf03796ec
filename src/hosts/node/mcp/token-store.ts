import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { TokenStore } from "../../../contract/backend-env.ts"
import { newNonce } from "../../../lib/id.ts"
import { errnoOf } from "../errno.ts"

/** Tokens in files that only this user can read. A reader never sees half a file. */
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
    async write(key, value) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      const draft = `${path(key)}.${newNonce()}`
      await writeFile(draft, value, { mode: 0o600, flag: "wx" })
      await rename(draft, path(key))
    },
    delete: (key) => rm(path(key), { force: true }),
  }
}
