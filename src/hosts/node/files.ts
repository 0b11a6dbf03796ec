import type { Dirent, Stats } from "node:fs"
import { constants, type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises"
import { basename, dirname } from "node:path"
import type { FileEntry, Files } from "../../contract/env.ts"
import { ToolError, type ToolErrorCode } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { type Confinement, confineTo, isOurs, type Pin } from "./confine.ts"

export interface NodeFilesOptions {
  /** Folders that may be read and written. They must exist. */
  readonly roots: readonly string[]
  /** Folders that may only be read. */
  readonly readOnlyRoots?: readonly string[]
}

/**
 * The file system, confined to folders. On Linux no link that is swapped between check and use leads outside; elsewhere
 * that gap is narrowed, not closed. A hard link cannot be told from the file it shares, so reading through one that was
 * made inside the roots is allowed; writing replaces the name and leaves the shared file as it was.
 */
export function nodeFiles({ roots, readOnlyRoots = [] }: NodeFilesOptions): Files {
  const confinement = confineTo(roots, readOnlyRoots)

  /** Every failure names the path as its author knows it, never where it led. */
  async function named<Value>(path: string, cwd: string, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work()
    } catch (error) {
      throw toToolError(error, confinement.display(path, cwd))
    }
  }

  async function withExisting<Value>(path: string, cwd: string, use: (pin: Pin) => Promise<Value>): Promise<Value> {
    const { real, missing } = await confinement.locate(path, cwd, "read")
    if (missing.length > 0) throw new ToolError("not_found", "does not exist")
    const pin = await confinement.pin(real, "read")
    return closing(pin, use)
  }

  return {
    display: confinement.display,

    info: (path, cwd) =>
      named(path, cwd, () =>
        withExisting(path, cwd, async ({ stats }) => ({
          kind: kindOf(stats),
          size: stats.size,
          modifiedMs: stats.mtimeMs,
        })),
      ),

    read: (path, cwd, range) =>
      named(path, cwd, () =>
        withExisting(path, cwd, async (pin) => {
          requireFile(pin.stats)
          // The two flags are for what may have taken the file's place where it could not be pinned.
          const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
          return closing(await open(pin.place, flags), async (handle) => {
            const stats = await handle.stat()
            requireFile(stats)
            await pin.recheck()
            return readRange(handle, stats.size, range)
          })
        }),
      ),

    list: (path, cwd) =>
      named(path, cwd, () =>
        withExisting(path, cwd, async (pin) => {
          if (!pin.stats.isDirectory()) throw new ToolError("invalid_input", "is not a folder")
          const entries = await readdir(pin.place, { withFileTypes: true })
          await pin.recheck()
          return entries.filter((entry) => !isOurs(entry.name)).map(toEntry)
        }),
      ),

    write: (path, cwd, bytes) => named(path, cwd, () => write(confinement, path, cwd, bytes)),
  }
}

async function write(
  confinement: Confinement,
  path: string,
  cwd: string,
  bytes: Uint8Array,
): Promise<{ created: boolean }> {
  const { real, missing } = await confinement.locate(path, cwd, "write")
  const name = missing.at(-1) ?? basename(real)
  if (missing.length > 0) {
    const folder = await makeFolders(confinement, real, missing.slice(0, -1))
    return closing(folder, (pin) => replaceFile(pin, name, bytes))
  }
  // Looked at before its parent, which for a root lies outside.
  await closing(await confinement.pin(real, "write"), async ({ stats }) => requireFile(stats))
  return closing(await confinement.pin(dirname(real), "write"), (pin) => replaceFile(pin, name, bytes))
}

/** Each folder is made and entered through the one before it: none can be swapped for a link on the way. */
async function makeFolders(confinement: Confinement, real: string, names: readonly string[]): Promise<Pin> {
  let pin = await confinement.pin(real, "write")
  for (const name of names) {
    pin = await closing(pin, async (parent) => {
      requireFolder(parent.stats)
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

async function replaceFile(folder: Pin, name: string, bytes: Uint8Array): Promise<{ created: boolean }> {
  requireFolder(folder.stats)
  const target = `${folder.place}/${name}`
  const existing = await statOf(target)
  if (existing !== undefined) requireFile(existing)
  const temporary = `${folder.place}/.tmp-${newNonce()}`
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(temporary, flags, 0o666)
  try {
    await closing(handle, async () => {
      await handle.writeFile(bytes)
      if (existing !== undefined) await handle.chmod(existing.mode & 0o777)
      await handle.sync()
    })
    await folder.recheck()
    await rename(temporary, target)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(folder)
  return { created: existing === undefined }
}

async function syncFolder(folder: Pin): Promise<void> {
  const handle = await open(folder.place, constants.O_RDONLY | constants.O_DIRECTORY)
  await closing(handle, () => handle.sync())
}

async function readRange(
  handle: FileHandle,
  size: number,
  range: { readonly offset: number; readonly limit: number } = { offset: 0, limit: Infinity },
): Promise<Uint8Array> {
  const wanted = Math.max(0, Math.min(range.limit, size - range.offset))
  if (wanted > maxReadBytes) throw new ToolError("invalid_input", "is too large to be read at once")
  const bytes = new Uint8Array(wanted)
  let filled = 0
  while (filled < wanted) {
    const { bytesRead } = await handle.read(bytes, filled, wanted - filled, range.offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

const maxReadBytes = 1024 ** 3

async function closing<Resource extends { close(): Promise<void> }, Value>(
  resource: Resource,
  use: (resource: Resource) => Promise<Value>,
): Promise<Value> {
  try {
    return await use(resource)
  } finally {
    await resource.close()
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined
    throw error
  }
}

function requireFile(stats: Stats): void {
  if (stats.isFile()) return
  if (stats.isSymbolicLink()) throw new ToolError("denied", "changed while it was used")
  throw new ToolError("invalid_input", stats.isDirectory() ? "is a folder" : "is not a regular file")
}

function requireFolder(stats: Stats): void {
  if (!stats.isDirectory()) throw new ToolError("invalid_input", "lies below something that is not a folder")
}

function toEntry(entry: Dirent): FileEntry {
  return { name: entry.name, kind: kindOf(entry) }
}

function kindOf(entry: Dirent | Stats): FileEntry["kind"] {
  if (entry.isFile()) return "file"
  if (entry.isDirectory()) return "folder"
  return entry.isSymbolicLink() ? "link" : "other"
}

const failures: Readonly<Record<string, readonly [code: ToolErrorCode, what: string]>> = {
  ENOENT: ["not_found", "does not exist"],
  ENOTDIR: ["not_found", "does not exist"],
  EACCES: ["denied", "may not be used by this process"],
  EPERM: ["denied", "may not be used by this process"],
  EROFS: ["denied", "is on a read-only file system"],
  ELOOP: ["denied", "is a link that leads to itself"],
  ENXIO: ["invalid_input", "is not a regular file"],
  EISDIR: ["conflict", "became a folder meanwhile"],
  ENAMETOOLONG: ["invalid_input", "has a name that is too long"],
  EEXIST: ["conflict", "was created by somebody else meanwhile"],
}

function toToolError(error: unknown, name: string): ToolError {
  if (error instanceof ToolError) return new ToolError(error.code, `${name} ${error.message}.`, { cause: error })
  const errno = errnoOf(error)
  const [code, what] = failures[errno] ?? ["io", `could not be used (${errno})`]
  return new ToolError(code, `${name} ${what}.`, { cause: error })
}

function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error"
}
