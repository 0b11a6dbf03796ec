import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { insidePath } from "../files/confine.ts"

export interface ProgramSearch {
  /** As PATH has it. */
  readonly path?: string
  /** Folders that tools may write: a program in one of them may have been put there by a model. */
  readonly outside?: readonly string[]
}

/**
 * Finds a program that this process starts for itself. Relative entries of PATH are passed over: they would start programs
 * of any folder that this process happens to be in.
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
