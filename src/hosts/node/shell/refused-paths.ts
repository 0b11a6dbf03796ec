import { lstat, readdir, realpath } from "node:fs/promises"
import { join } from "node:path"
import type { PathRefusals } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { insidePath } from "../files/confine.ts"

/** The existing paths that are refused to a command, without those below them. */
export interface RefusedPaths {
  /** Not to be read, hence not to be written either. */
  readonly unreadable: readonly { readonly path: string; readonly isFolder: boolean }[]
  readonly unwritable: readonly string[]
  /** Both, and links whose own path is refused. */
  readonly all: readonly string[]
}

export const nothingRefused: RefusedPaths = { unreadable: [], unwritable: [], all: [] }

/**
 * Finds what rules refuse below the folders that a sandbox shows. `system`: folders that are searched only where a rule names a path
 * in them. Rejects with `denied` if it is more than a sandbox can hide.
 */
export async function findRefused(
  refusals: PathRefusals,
  folders: readonly string[],
  system: readonly string[],
): Promise<RefusedPaths> {
  const found = new Search(refusals, folders)
  const isShown = (path: string) => [...folders, ...system].some((folder) => insidePath(folder, path) !== undefined)
  const named = await Promise.all(refusals.elsewhere.map((path) => realpath(path).catch(() => path)))
  for (const start of new Set([...folders, ...named.filter(isShown)])) await found.from(start)
  return found.refused()
}

class Search {
  readonly #refusals: PathRefusals
  readonly #folders: readonly string[]
  readonly #unreadable = new Map<string, boolean>()
  readonly #unwritable = new Set<string>()
  readonly #links: string[] = []
  #entries = 0

  constructor(refusals: PathRefusals, folders: readonly string[]) {
    this.#refusals = refusals
    this.#folders = folders
  }

  refused(): RefusedPaths {
    const isCovered = (path: string) =>
      [...this.#unreadable.keys()].some((each) => each !== path && insidePath(each, path) !== undefined)
    return {
      unreadable: Array.from(this.#unreadable, ([path, isFolder]) => ({ path, isFolder })).filter(
        ({ path }) => !isCovered(path),
      ),
      unwritable: [...this.#unwritable].filter((path) => !this.#unreadable.has(path) && !isCovered(path)),
      all: [...this.#unreadable.keys(), ...this.#unwritable, ...this.#links],
    }
  }

  async from(start: string): Promise<void> {
    const stats = await lstat(start).catch(() => undefined)
    if (stats === undefined) return
    this.#judge(start, stats.isDirectory())
    if (this.#folders[0] === start && this.#unreadable.has(start)) {
      throw new ToolError("denied", "The policy refuses the whole folder that commands run in.")
    }
    let level = stats.isDirectory() && !this.#unreadable.has(start) ? [start] : []
    while (level.length > 0) level = (await Promise.all(level.map((folder) => this.#folder(folder)))).flat()
  }

  /** Returns the folders in it that have to be searched. */
  async #folder(folder: string): Promise<string[]> {
    if (!this.#refusals.mayBeginBelow(folder)) return []
    const next: string[] = []
    // A folder that cannot be listed cannot be read by a command of the same user either.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (++this.#entries > MAX_ENTRIES) throw tooMuch("The folder that commands run in contains too much to search.")
      const path = join(folder, entry.name)
      if (entry.isSymbolicLink()) await this.#link(path)
      else this.#judge(path, entry.isDirectory())
      if (entry.isDirectory() && !this.#unreadable.has(path)) next.push(path)
    }
    return next
  }

  #judge(path: string, isFolder: boolean): void {
    if (this.#refusals.beginsAt(path, "read")) this.#unreadable.set(path, isFolder)
    else if (this.#refusals.beginsAt(path, "write")) this.#unwritable.add(path)
    if (this.#unreadable.size + this.#unwritable.size > MAX_REFUSED) {
      throw tooMuch(`There are more than ${MAX_REFUSED} such paths.`)
    }
  }

  /** A link itself cannot be covered: what it leads to is, where commands can see it. */
  async #link(path: string): Promise<void> {
    const access = (["read", "write"] as const).find((each) => this.#refusals.beginsAt(path, each))
    if (access === undefined) return
    this.#links.push(path)
    const real = await realpath(path).catch(() => undefined)
    if (real === undefined || this.#folders.every((folder) => insidePath(folder, real) === undefined)) return
    if (access === "read") this.#unreadable.set(real, (await lstat(real)).isDirectory())
    else this.#unwritable.add(real)
  }
}

/** Every mount takes time, and the time for each grows with their number. */
const MAX_REFUSED = 300
const MAX_ENTRIES = 300_000

function tooMuch(why: string): ToolError {
  const message = `The sandbox cannot hide what the policy refuses. ${why} Let rules name the folders that contain them.`
  return new ToolError("denied", message)
}
