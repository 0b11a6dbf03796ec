import { readdir } from "node:fs/promises"
import { homedir } from "node:os"
import type { PolicyHost } from "../../../policy/policies.ts"
import { toEntry } from "../files/entry.ts"
import { resolvePath } from "./resolve-path.ts"

/** The services that Node adds to a policy: files, and where paths lead. */
export const nodePolicyHost: PolicyHost = {
  resolvePath,
  homeFolder: homedir(),
  async readFile(path) {
    const { loadPolicyFile } = await import("./load-policy.ts")
    return (await loadPolicyFile(path)).sources
  },
  async listFolder(path) {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.map(toEntry)
  },
}
