import { accessSync, constants, existsSync, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { insidePath, realPathOf } from "../files/confine.ts"

export interface ProgramSearch {
  /** As PATH has it. */
  readonly path?: string
  /** Folders that tools may write: a model may have put a program there. */
  readonly outside?: readonly string[]
}

/**
 * Finds a program for this process to start. Relative entries of PATH are skipped: they would start programs from the
 * current folder.
 */
export function findProgram(
  name: string,
  { path = process.env.PATH ?? "", outside = [] }: ProgramSearch = {},
): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find((program) => isProgram(program) && isOutside(program, outside))
}

/**
 * A PATH without the folders in which `findProgram` finds nothing, for a program that starts others by their names: npx and npm put
 * folders of the workspace on it. Undefined if nothing is left: an empty PATH means the current folder.
 */
export function pathOutside(path = "", outside: readonly string[] = []): string | undefined {
  const isKept = (folder: string) => isAbsolute(folder) && existsSync(folder) && isOutside(folder, outside)
  return path.split(delimiter).filter(isKept).join(delimiter) || undefined
}

/** By the given paths and by the real ones: both may contain links. */
function isOutside(path: string, outside: readonly string[]): boolean {
  const folders = outside.flatMap((folder) => [folder, realPathOf(folder)])
  return [path, realPathOf(path)].every((at) => folders.every((folder) => insidePath(folder, at) === undefined))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
