import { chmod, mkdir, rename, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { newNonce } from "../../../lib/id.ts"

/** Writes a file that only this user can read, in a folder of its own. A reader never sees a partial file. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const draft = `${path}.${newNonce()}`
  await writeFile(draft, text, { mode: 0o600, flag: "wx" })
  await rename(draft, path)
}
