import { mkdirSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

/** Where runs are kept, and what else must outlive a process. */
export function defaultStoreRoot(variables: Readonly<Record<string, string | undefined>> = process.env): string {
  const root =
    variables.LONGHAUL_STORE || join(variables.XDG_STATE_HOME || join(homedir(), ".local", "state"), "longhaul")
  return resolve(root)
}

/** Where what a command said too much of is kept: it must be there for tools to read it. */
export function madeSpillFolder(): string {
  const folder = join(defaultStoreRoot(), "spill")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
