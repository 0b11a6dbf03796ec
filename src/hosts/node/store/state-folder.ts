import { homedir } from "node:os"
import { join, resolve } from "node:path"

type Variables = Readonly<Record<string, string | undefined>>

/** Where runs are kept, and what else must outlive a process. A bucket holds runs only: the rest stays in the state folder. */
export function defaultStoreRoot(variables: Variables = process.env): string {
  const named = variables.LONGHAUL_STORE
  if (named && !named.startsWith("s3://")) return resolve(named)
  return resolve(variables.XDG_STATE_HOME || join(homedir(), ".local", "state"), "longhaul")
}

/** The user's own: the one that every program of theirs finds, and the one that the environment names. */
export function stateFolders(variables: Variables = process.env): readonly string[] {
  const { LONGHAUL_STORE: _, ...others } = variables
  return [...new Set([defaultStoreRoot(others), defaultStoreRoot(variables)])]
}

/** Where shells keep what they need, and long output that lies beside no run: one folder for each session. */
export function defaultSpillFolder(): string {
  return join(defaultStoreRoot(), "spill")
}
