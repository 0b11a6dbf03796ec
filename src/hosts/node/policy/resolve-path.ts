import { readlink } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { ToolError } from "../../../contract/tool.ts"
import { errnoOf } from "../errno.ts"
import { deepestExisting } from "../files/confine.ts"

/**
 * Where an absolute path leads, with links resolved as far as it exists. Rejects for a broken link, a loop, and a link to what each
 * process has of its own: for a command, it leads elsewhere than here.
 */
export async function resolvePath(path: string): Promise<string> {
  try {
    const { real, missing } = await deepestExisting(path)
    const found = join(real, ...missing)
    if (found !== path && (await isOfProcess(path))) throw new ToolError("denied", "leads elsewhere in each process")
    return found
  } catch (error) {
    // The words of a command may be long, and no file has such a name.
    if (errnoOf(error) === "ENAMETOOLONG") return path
    throw error
  }
}

/** True if a link on the way is the working folder, the root or an open folder of a process. */
async function isOfProcess(path: string): Promise<boolean> {
  const rest = path.split("/").reverse()
  let at = "/"
  let links = 0
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    at = join(at, part)
    const [, kind] = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?(cwd|root|fd\/[^/]+)$/.exec(at) ?? []
    if (kind === "cwd" || kind === "root" || (kind !== undefined && rest.length > 0)) return true
    const target = await readlink(at).catch(() => undefined)
    if (target === undefined) continue
    // It was resolved before, and may have become a loop in the meantime.
    if (++links > mostLinks) return true
    rest.push(...target.split("/").reverse())
    at = isAbsolute(target) ? "/" : join(at, "..")
  }
  return false
}

/** As in Linux. */
const mostLinks = 40
