import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { variables as processVariables } from "../../../lib/schema/contract-shapes.ts"
import { checkArgument } from "../../../lib/schema/shape.ts"

type Variables = Readonly<Record<string, string | undefined>>

/** Where runs and other persistent data are stored. A bucket contains only runs: the rest stays in the state folder. */
export function defaultStoreRoot(variables: Variables = process.env): string {
  checkArgument("variables", variables, processVariables)
  const named = variables.LONGHAUL_STORE
  if (named && !named.startsWith("s3://")) return resolve(named)
  return resolve(variables.XDG_STATE_HOME || join(homedir(), ".local", "state"), "longhaul")
}

/** The user's own: the default one, and the one named by the environment. */
export function stateFolders(variables: Variables = process.env): readonly string[] {
  const { LONGHAUL_STORE: _, ...others } = variables
  return [...new Set([defaultStoreRoot(others), defaultStoreRoot(variables)])]
}

/** Folder for shell data and long output without a run: one folder per session. */
export function defaultSpillFolder(): string {
  return join(defaultStoreRoot(), "spill")
}
