import { existsSync, realpathSync, type Stats, statSync } from "node:fs"
import { constants, type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { leadsToOurs } from "../../../lib/own-names.ts"
import { stateFolders } from "../store/state-folder.ts"

/** The folders that paths may lead to, and safe access to them. */
export interface Confinement {
  /** Equal for the same folders in every process. */
  readonly identity: string
  display(path: string, cwd: string): string
  /** The real target of a path, with links resolved. Throws `denied` if it is not inside the roots. */
  locate(path: string, cwd: string, access: Access): Promise<Location>
  /** True if a real path is in a folder that is hidden from tools. */
  hides(real: string): boolean
  /** Opens the target of a real path and checks it again. Close it. */
  pin(real: string, access: Access): Promise<Pin>
}

export type Access = "read" | "write"

export interface Location {
  /** The deepest existing part. */
  readonly real: string
  /** The remaining names that do not exist; empty if the whole path exists. */
  readonly missing: readonly string[]
}

/**
 * Whatever is renamed or linked in the meantime, `place` leads to the checked target (on Linux; elsewhere see
 * `recheck`).
 */
export interface Pin {
  readonly place: string
  /** Where it is, as the kernel names it. */
  readonly real: string
  readonly stats: Stats
  /** A no-op on Linux. Elsewhere narrows the gap between check and use, but cannot close it. */
  recheck(): Promise<void>
  close(): Promise<void>
}

/**
 * Roots must exist: a misspelt one would deny everything, or be created by another process later. `hidden` folders and
 * the user's state folder are invisible in a root; a root inside one shows itself.
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
  // The most specific root decides, so that a read-only folder can be inside a writable one.
  const bySpecificity = [...all].sort((left, right) => right.real.length - left.real.length)
  const stores = [...stateFolders(), ...hidden].map(realPathOf)
  for (const root of all) refuseRootInside(stores, root)
  // Usually empty, so that nothing is compared per folder entry.
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
        if (leadsToOurs(inside.split(sep), access) || isHidden(root, candidate))
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
  /** As configured, possibly through links. */
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
    // Reported below, with the same message.
  }
  throw new LonghaulError("config_invalid", `The folder ${JSON.stringify(path)} does not exist.`, {
    fix: "Create it, or name an existing folder as root.",
  })
}

/** A tool that can write to the store could rewrite history. */
function refuseRootInside(folders: readonly string[], { given, real, writable }: Root): void {
  const folder = folders.find((each) => insidePath(each, real) !== undefined)
  if (folder === undefined || !writable) return
  throw new LonghaulError("config_invalid", `The folder ${given} is inside ${folder}, where runs are stored.`, {
    fix: "Store runs outside the folders that tools can write: choose another store or workspace.",
  })
}

/** The rest of `candidate` after `root`; undefined if it is not inside. `ws-evil` is not inside `ws`; `ws/..foo` is. */
export function insidePath(root: string, candidate: string): string | undefined {
  // The kernel describes files without a path by texts such as `pipe:[7]`.
  if (!isAbsolute(candidate)) return undefined
  const rest = relative(root, candidate)
  return rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest) ? undefined : rest
}

/** Resolves links in the existing part. */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path === dirname(path) ? path : join(realPathOf(dirname(path)), basename(path))
  }
}

export async function deepestExisting(absolute: string): Promise<Location> {
  const missing: string[] = []
  for (let path = absolute; ; path = dirname(path)) {
    try {
      return { real: await realpath(path), missing }
    } catch (error) {
      if (!isMissing(error) || path === dirname(path)) throw error
      // The target is not reported: it must not reveal whether an outside path exists.
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

/** Linux: a descriptor can be used as a path, which gives us openat and renameat. */
const hasDescriptorPaths = process.platform === "linux" && existsSync("/proc/self/fd")

/** O_PATH, which Node does not define: refers to a file without opening it, so devices and pipes do nothing. */
const pathOnly = 0o10000000

async function pinByDescriptor(real: string, check: (real: string) => void): Promise<Pin> {
  for (let left = mostReplacements; ; left--) {
    const pin = await pinOnce(real, check)
    // The kernel's name of a file that was replaced in the meantime ends so, and no check would recognise it. The path leads to the new file.
    if (!pin.real.endsWith(" (deleted)") || (await isStill(pin))) return pin
    await pin.close()
    if (left === 0) throw new ToolError("conflict", "changed while it was in use")
  }
}

const mostReplacements = 16

/** True for a file whose name really ends like that of a deleted one. */
async function isStill({ real, stats }: Pin): Promise<boolean> {
  const now = await lstat(real).catch(() => undefined)
  return now?.ino === stats.ino && now.dev === stats.dev
}

async function pinOnce(real: string, check: (real: string) => void): Promise<Pin> {
  const handle = await open(real, pathOnly | constants.O_NOFOLLOW)
  try {
    const place = `/proc/self/fd/${handle.fd}`
    // The kernel reports the actual target, whatever was swapped on the way.
    const at = await readlink(place)
    check(at)
    const stats = await handle.stat()
    refuseLink(stats)
    return { place, real: at, stats, recheck: async () => {}, close: () => handle.close() }
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
  return { place: real, real, stats, recheck, close: async () => {} }
}

/** Links were resolved before: a link here was created since. */
function refuseLink(stats: Stats): void {
  if (stats.isSymbolicLink()) throw new ToolError("denied", "changed while it was in use")
}

async function closeQuietly(handle: FileHandle): Promise<void> {
  await handle.close().catch(() => {})
}
