import { join } from "node:path"
import { deepestExisting } from "../files/confine.ts"

/** Where an absolute path leads, with links resolved as far as it exists. Rejects for a broken link or a loop. */
export async function resolvePath(path: string): Promise<string> {
  const { real, missing } = await deepestExisting(path)
  return join(real, ...missing)
}
