import type { Dirent } from "node:fs"
import { readdir } from "node:fs/promises"
import { homedir } from "node:os"
import type { FileEntry } from "../../../contract/env.ts"
import type { PolicyHost } from "../../../policy/policies.ts"
import { resolvePath } from "./resolve-path.ts"

/** What Node adds to a policy: files, and where paths lead. */
export const nodePolicyHost: PolicyHost = {
  resolvePath,
  homeFolder: homedir(),
  async readFile(path) {
    const { loadPolicyFile } = await import("./load-policy.ts")
    return (await loadPolicyFile(path)).sources
  },
  async listFolder(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
  },
}

function kindOf(entry: Dirent): FileEntry["kind"] {
  if (entry.isFile()) return "file"
  if (entry.isDirectory()) return "folder"
  return entry.isSymbolicLink() ? "link" : "other"
}
