import { existsSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { commandsRanIn } from "./shell/command-record.ts"

/**
 * The folder and its ancestors up to the repository root, without world-writable folders. A command could create a
 * repository or make a folder world-writable to hide the file above it, so neither counts where commands ran.
 */
export function foldersAbove(start: string): readonly string[] {
  const folders = [resolve(start)]
  for (let folder = resolve(start); folder !== dirname(folder) && !isRepository(folder); ) {
    folder = dirname(folder)
    if (!isOpenToAll(folder) || commandsRanIn(folder)) folders.push(folder)
  }
  return folders
}

function isRepository(folder: string): boolean {
  return existsSync(join(folder, ".git")) && !commandsRanIn(dirname(folder))
}

function isOpenToAll(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
}
