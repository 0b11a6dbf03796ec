import type { Files } from "../contract/env.ts"
import type { PolicyCall, Ruled, Rules } from "../contract/policy.ts"
import { mayRead } from "../lib/access/file-guard.ts"
import { isJsonObject } from "../lib/json.ts"
import type { ResolvePath } from "./rules/find-paths.ts"
import { usesOf } from "./rules/known-tools.ts"
import { absolutePath } from "./rules/path-pattern.ts"

/**
 * Why a search of another program must not run: it would show a path that the policy hides. Our own tools leave such paths
 * out of what they show; of a vendor's tool only the folder can be chosen.
 */
export async function showsHidden(
  call: PolicyCall,
  rules: Rules,
  ruled: Ruled,
  files: Pick<Files, "list"> | undefined,
  resolvePath: ResolvePath = async (path) => path,
): Promise<string | undefined> {
  const { below, read = [] } = await usesOf(call)
  const guard = below === true ? await rules.guard(call, ruled) : undefined
  if (guard === undefined) return undefined
  const hides = (path: string) => !mayRead(guard, path)
  let left = MAX_ENTRIES
  for (const path of read) {
    if (path === undefined || files === undefined) return "what it would show is not known"
    const start = absolutePath(absolutePath(call.cwd, path), fixedFolder(call))
    const real = await resolvePath(start).catch(() => start)
    if (hides(start) || hides(real)) return hidden(path)
    const folders = [start]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      // A file has no entries, and what cannot be listed here cannot be searched either.
      for (const { name, kind } of await files.list(folder, call.cwd).catch(() => [])) {
        const below = `${folder}/${name}`
        if (hides(below) || hides(`${real}${below.slice(start.length)}`)) return hidden(path)
        if (--left === 0) return `there is too much below ${path} to tell what it would show: search a narrower folder`
        if (kind === "folder") folders.push(below)
      }
    }
  }
  return undefined
}

const MAX_ENTRIES = 50_000

function hidden(path: string): string {
  return `the policy hides something below ${path}: search a narrower folder, or a single file`
}

/** The folder below which all matches of a glob pattern are. */
function fixedFolder({ tool, args }: PolicyCall): string {
  const pattern = tool === "Glob" && isJsonObject(args) ? args.pattern : undefined
  if (typeof pattern !== "string" || /^[/~]/.test(pattern)) return "."
  const parts = pattern.split("/")
  const end = parts.findIndex((part, index) => index === parts.length - 1 || /[*?[\]{}()!\\]|^\.\.$/.test(part))
  return `./${parts.slice(0, end).join("/")}`
}
