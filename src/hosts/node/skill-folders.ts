import { statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { type SkillFolder, skillFolders } from "../../extensions/skills/discover.ts"
import { checkArgument } from "../../lib/schema/shape.ts"
import { nodeFiles } from "./files/files.ts"

/** The folders of skills in the user's home, as far as they exist: for `folders` of `skills()`, after those of the workspace. */
export function userSkillFolders(home: string = homedir()): readonly SkillFolder[] {
  checkArgument("home", home, "text")
  return skillFolders.flatMap((name) => {
    const path = join(home, name)
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
    return isFolder ? [{ files: nodeFiles({ roots: [], readOnlyRoots: [path] }), path: ".", shown: `~/${name}` }] : []
  })
}
