import { resolve } from "node:path"
import type { RecordedInput } from "../contract/event.ts"

/** The workspace that a run began in. Journals of version 0.1 have an absolute `cwd` instead. */
export function startWorkspace({ workspace, cwd }: RecordedInput): string {
  return workspace ?? cwd
}

/** The folder that the tools of a run began in. */
export function startFolder({ workspace, cwd }: RecordedInput): string {
  return workspace === undefined ? cwd : resolve(workspace, cwd)
}
