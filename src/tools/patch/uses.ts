import type { Uses, UsesOf } from "../../contract/tool.ts"
import { memberOf } from "../../lib/access/arguments.ts"

/** A file that is moved or changed is read as well: its lines come with it, and into errors. The parser is loaded on demand. */
export const patchUses: UsesOf = (args) => {
  const patch = memberOf(args, "patch")
  return typeof patch === "string" ? usesOfPatch(patch) : unknown
}

async function usesOfPatch(patch: string): Promise<Uses> {
  const { parsePatch } = await import("../../lib/patch/parse-patch.ts")
  try {
    const files = parsePatch(patch)
    const known = files.flatMap((file) => {
      const { path } = file
      return file.kind === "update" && file.otherPath !== undefined ? [path, file.otherPath] : [path]
    })
    const moved = files.flatMap((file) => (file.kind === "update" && file.moveTo !== undefined ? [file.moveTo] : []))
    // A file that is added is read too, to see that it does not exist, but none of it is shown.
    const isAdded = (path: string) => files.some((file) => file.kind === "add" && file.path === path)
    return { read: known.filter((path) => !isAdded(path)), write: [...known, ...moved] }
  } catch {
    // The tool cannot read it either.
    return unknown
  }
}

const unknown: Uses = { read: [undefined], write: [undefined] }
