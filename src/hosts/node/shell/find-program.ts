import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { insidePath } from "../files/confine.ts"

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
  const isOutside = (program: string) =>
    [program, realpathSync(program)].every((at) => outside.every((folder) => insidePath(folder, at) === undefined))
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find((program) => isProgram(program) && isOutside(program))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
