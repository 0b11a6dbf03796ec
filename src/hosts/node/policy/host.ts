import { homedir } from "node:os"
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
}
