import { existsSync, realpathSync, type Stats, statSync } from "node:fs"
import { constants, type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { stateFolders } from "../store/state-folder.ts"

/** The folders that paths may lead to, and the way to get there without being led elsewhere. */
export interface Confinement {
  /** The same for the same folders, whoever confines to them. */
  readonly identity: string
  display(path: string, cwd: string): string
  /** Where a path really leads, links followed. Throws `denied` where that is not inside the roots. */
  locate(path: string, cwd: string, access: Access): Promise<Location>
  /** Whether a real path lies in a folder that does not exist for tools. */
  hides(real: string): boolean
  /** Holds what is at a real path, checked again on what was reached. Close it. */
  pin(real: string, access: Access): Promise<Pin>
}

export type Access = "read" | "write"

export interface Location {
  /** The deepest part that exists. */
  readonly real: string
  /** The names after it that do not exist; none where the whole path does. */
  readonly missing: readonly string[]
}

/** Whatever is renamed or linked meanwhile, `place` leads to what was checked (on Linux; elsewhere see `recheck`). */
export interface Pin {
  readonly place: string
  readonly stats: Stats
  /** Nothing to do on Linux. Elsewhere narrows the gap between check and use, but cannot close it. */
  recheck(): Promise<void>
  close(): Promise<void>
}

/**
 * Roots must exist: a misspelt one would otherwise deny everything, or be created by somebody else later. Of `hidden`
 * folders, and always of the user's state folder, a root shows nothing; a root that lies inside one shows itself.
 */
export function confineTo(
  roots: readonly string[],
  readOnlyRoots: readonly string[],
  hidden: readonly string[] = [],
): Confinement {
  const all = [...roots.map((path) => toRoot(path, true)), ...readOnlyRoots.map((path) => toRoot(path, false))]
  const first = all[0]
  if (first === undefined) {
    throw new LonghaulError("config_invalid", "The file tools have no folder to work in.", {
      fix: "Pass at least one root.",
    })
  }
  // The most specific root decides, so that a read-only folder can lie inside a writable one.
  const bySpecificity = [...all].sort((left, right) => right.real.length - left.real.length)
  const stores = [...stateFolders(), ...hidden].map(realPathOf)
  for (const root of all) refuseRootInside(stores, root)
  // Nearly always none, so that nothing is compared for each entry of a folder.
  const hiddenFolders = stores.filter((store) => all.some((root) => insidePath(root.real, store) !== undefined))
  const isHidden = (root: Root, candidate: string) =>
    hiddenFolders.some(
      (folder) => insidePath(folder, candidate) !== undefined && insidePath(folder, root.real) === undefined,
    )

  function check(candidate: string, access: Access, spellings: readonly (keyof Spellings)[]): void {
    for (const root of bySpecificity) {
      for (const spelling of spellings) {
        const inside = insidePath(root[spelling], candidate)
        if (inside === undefined) continue
        if (inside.split(sep).some(isOurs) || isHidden(root, candidate))
          throw new ToolError("denied", "is reserved for longhaul")
        if (access === "write" && !root.writable) throw new ToolError("denied", "is read-only")
        return
      }
    }
    throw new ToolError("denied", "is outside the allowed folders")
  }

  async function locate(path: string, cwd: string, access: Access): Promise<Location> {
    if (path.includes("\0")) throw new ToolError("denied", "contains a NUL character")
    const absolute = resolve(first?.given ?? "", cwd, path)
    check(absolute, access, ["given", "real"])
    const location = await deepestExisting(absolute)
    check(join(location.real, ...location.missing), access, ["real"])
    return location
  }

  return {
    identity: JSON.stringify(all.map(({ real, writable }) => [real, writable])),
    display(path, cwd) {
      const absolute = resolve(first.given, cwd, path)
      const inside = insidePath(first.given, absolute) ?? insidePath(first.real, absolute)
      if (inside !== undefined) return inside === "" ? "." : inside
      const isInside = (root: Root) => [root.given, root.real].some((at) => insidePath(at, absolute) !== undefined)
      return all.some(isInside) ? absolute : path
    },
    locate,
    hides: (real) => {
      if (hiddenFolders.length === 0) return false
      const root = bySpecificity.find((each) => insidePath(each.real, real) !== undefined)
      return root !== undefined && isHidden(root, real)
    },
    pin: (real, access) =>
      (hasDescriptorPaths ? pinByDescriptor : pinByName)(real, (at) => check(at, access, ["real"])),
  }
}

interface Spellings {
  /** As configured, where links may be in the way. */
  readonly given: string
  readonly real: string
}

interface Root extends Spellings {
  readonly writable: boolean
}

function toRoot(path: string, writable: boolean): Root {
  try {
    const given = resolve(path)
    const real = realpathSync.native(given)
    if (statSync(real).isDirectory()) return { given, real, writable }
  } catch {
    // Said below, in the same words.
  }
  throw new LonghaulError("config_invalid", `The folder ${JSON.stringify(path)} does not exist.`, {
    fix: "Create it, or name an existing folder as root.",
  })
}

/** A tool that can write where runs are kept could rewrite history. */
function refuseRootInside(folders: readonly string[], { given, real, writable }: Root): void {
  const folder = folders.find((each) => insidePath(each, real) !== undefined)
  if (folder === undefined || !writable) return
  throw new LonghaulError("config_invalid", `The folder ${given} is inside ${folder}, where runs are stored.`, {
    fix: "Store runs outside the folders that tools can write: choose another store or workspace.",
  })
}

/** The rest of `candidate` after `root`; undefined where it is not inside. `ws-evil` is not inside `ws`; `ws/..foo` is. */
export function insidePath(root: string, candidate: string): string | undefined {
  // The kernel names what has no path by words such as `pipe:[7]`.
  if (!isAbsolute(candidate)) return undefined
  const rest = relative(root, candidate)
  return rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest) ? undefined : rest
}

/** Links followed in the part that exists. */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path === dirname(path) ? path : join(realPathOf(dirname(path)), basename(path))
  }
}

async function deepestExisting(absolute: string): Promise<Location> {
  const missing: string[] = []
  for (let path = absolute; ; path = dirname(path)) {
    try {
      return { real: await realpath(path), missing }
    } catch (error) {
      if (!isMissing(error) || path === dirname(path)) throw error
      // Where it leads is not said: whether something outside exists is nobody's business.
      if (await isLink(path)) throw new ToolError("denied", "is a broken symbolic link")
      missing.unshift(basename(path))
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")
}

/** Linux: a descriptor can be named as a path, which gives us openat and renameat. */
const hasDescriptorPaths = process.platform === "linux" && existsSync("/proc/self/fd")

/** O_PATH, which Node does not name: reaches a file without opening it, so devices and pipes do nothing. */
const pathOnly = 0o10000000

async function pinByDescriptor(real: string, check: (real: string) => void): Promise<Pin> {
  const handle = await open(real, pathOnly | constants.O_NOFOLLOW)
  try {
    const place = `/proc/self/fd/${handle.fd}`
    // The kernel's own word on what was reached, whatever was swapped on the way there.
    check(await readlink(place))
    const stats = await handle.stat()
    refuseLink(stats)
    return { place, stats, recheck: async () => {}, close: () => handle.close() }
  } catch (error) {
    await closeQuietly(handle)
    throw error
  }
}

async function pinByName(real: string, check: (real: string) => void): Promise<Pin> {
  const recheck = async (): Promise<void> => {
    if ((await realpath(real)) !== real) throw new ToolError("denied", "changed while it was in use")
  }
  const stats = await lstat(real)
  refuseLink(stats)
  await recheck()
  check(real)
  return { place: real, stats, recheck, close: async () => {} }
}

/** Links were followed before: one that is here now was put here since. */
function refuseLink(stats: Stats): void {
  if (stats.isSymbolicLink()) throw new ToolError("denied", "changed while it was in use")
}

async function closeQuietly(handle: FileHandle): Promise<void> {
  await handle.close().catch(() => {})
}
