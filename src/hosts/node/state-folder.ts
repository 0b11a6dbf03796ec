import { homedir } from "node:os"
import { join, resolve } from "node:path"

/** Where runs are kept, and what else must outlive a process. */
export function defaultStoreRoot(variables: Readonly<Record<string, string | undefined>> = process.env): string {
  const root =
    variables.LONGHAUL_STORE || join(variables.XDG_STATE_HOME || join(homedir(), ".local", "state"), "longhaul")
  return resolve(root)
}

/** Where shells keep what they need, and long output that lies beside no run: one folder for each session. */
export function defaultSpillFolder(): string {
  return join(defaultStoreRoot(), "spill")
}
