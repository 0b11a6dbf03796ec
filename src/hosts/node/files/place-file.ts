import type { Stats } from "node:fs"
import { constants, lstat, mkdir, open, rename, unlink } from "node:fs/promises"
import { join } from "node:path"
import type { FileGuard } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { newNonce } from "../../../lib/id.ts"
import { errnoOf } from "../errno.ts"
import type { Confinement, Pin } from "./confine.ts"

/**
 * The folder of a file that does not exist: `missing` are the names of folders to make, and of the file. Each folder is created and
 * entered through its parent handle: none can be swapped for a link on the way. The guard checks where the file would be.
 */
export async function makeFolders(
  confinement: Confinement,
  real: string,
  missing: readonly string[],
  guard: FileGuard,
): Promise<Pin> {
  let pin = await confinement.pin(real, "write")
  for (const [index, name] of missing.slice(0, -1).entries()) {
    pin = await closing(pin, async (parent) => {
      requireFolder(parent.stats)
      guard(join(parent.real, ...missing.slice(index)), "write")
      const place = `${parent.place}/${name}`
      await mkdir(place).catch((error: unknown) => {
        if (errnoOf(error) !== "EEXIST") throw error
      })
      await syncFolder(parent)
      return confinement.pin(place, "write")
    })
  }
  return pin
}

/** Writes bytes under a name of a folder atomically. `version`: the required previous version. */
export async function replaceFile(
  folder: Pin,
  name: string,
  bytes: Uint8Array,
  version?: string | null,
): Promise<{ created: boolean }> {
  requireFolder(folder.stats)
  const target = `${folder.place}/${name}`
  const existing = await statOf(target)
  if (existing !== undefined) requireFile(existing)
  const temporary = `${folder.place}/.tmp-${newNonce()}`
  try {
    await writeNew(temporary, bytes, existing?.mode)
    await folder.recheck()
    if (version !== undefined) requireVersion(await statOf(target), version)
    await rename(temporary, target)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(folder)
  return { created: existing === undefined }
}

/** A new file, durable under its name; the caller syncs the folder. `mode`: that of the replaced file. */
export async function writeNew(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  // From the start: a private file is never readable by others.
  const handle = await open(path, flags, (mode ?? 0o666) & 0o777)
  await closing(handle, async () => {
    await handle.writeFile(bytes)
    if (mode !== undefined) await handle.chmod(mode & 0o777)
    await handle.sync()
  })
}

export async function syncFolder(folder: Pin): Promise<void> {
  const handle = await open(folder.place, constants.O_RDONLY | constants.O_DIRECTORY)
  await closing(handle, () => handle.sync())
}

export async function closing<Resource extends { close(): Promise<void> }, Value>(
  resource: Resource,
  use: (resource: Resource) => Promise<Value>,
): Promise<Value> {
  try {
    return await use(resource)
  } finally {
    await resource.close()
  }
}

export async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined
    throw error
  }
}

/** Replacing or writing a file changes one of these. */
export function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].map((each) => each.toString(36)).join("-")
}

/** The part of a version that survives a remount. */
export function stampOf({ size, mtimeMs }: Stats): string {
  return [size, mtimeMs].map((each) => each.toString(36)).join("-")
}

export function requireVersion(stats: Stats | undefined, version: string | null): void {
  if ((stats ? versionOf(stats) : null) === version) return
  throw new ToolError("conflict", version === null ? "already exists" : "has changed since it was read")
}

export function requireFile(stats: Stats): void {
  if (stats.isFile()) return
  if (stats.isSymbolicLink()) throw new ToolError("denied", "changed while it was in use")
  throw new ToolError("invalid_input", stats.isDirectory() ? "is a folder" : "is not a regular file")
}

export function requireFolder(stats: Stats): void {
  if (!stats.isDirectory()) throw new ToolError("invalid_input", "is below a path that is not a folder")
}
