import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import type { TokenStore } from "../../../contract/backend-env.ts"
import { errnoOf } from "../errno.ts"
import { writePrivateFile } from "../files/private-file.ts"

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
    write: (key, value) => writePrivateFile(path(key), value),
    delete: (key) => rm(path(key), { force: true }),
  }
}
