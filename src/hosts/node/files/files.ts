import type { Dirent, Stats } from "node:fs"
import { constants, type FileHandle, open, readdir } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { FileChange, FileGuard, Files } from "../../../contract/env.ts"
import { ToolError, type ToolErrorCode } from "../../../contract/tool.ts"
import { bothGuards, mayRead, noGuard } from "../../../lib/access/file-guard.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { texts } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape } from "../../../lib/schema/shape.ts"
import { errnoOf } from "../errno.ts"
import { FileCommits, type Located, placeOf } from "./commit-files.ts"
import { type Confinement, confineTo, type Location, type Pin } from "./confine.ts"
import { kindOf, toEntry } from "./entry.ts"
import { Locks } from "./locks.ts"
import { closing, makeFolders, replaceFile, requireFile, requireVersion, versionOf } from "./place-file.ts"

export interface NodeFilesOptions {
  /** Readable and writable folders. They must exist. */
  readonly roots: readonly string[]
  /** Read-only folders. */
  readonly readOnlyRoots?: readonly string[]
  /**
   * Folders inside the roots that are hidden from tools, such as the store. The user's state folder is always hidden.
   */
  readonly hidden?: readonly string[]
  /** Folder for notes about multi-file changes. Outside the roots. Default: next to the runs. */
  readonly redoFolder?: string
}

const optionsShape: Shape<NodeFilesOptions> = {
  roots: required(texts),
  readOnlyRoots: texts,
  hidden: texts,
  redoFolder: "text",
}

/**
 * The file system, confined to folders. On Linux no link swapped between check and use leads outside; elsewhere that
 * gap is narrowed, not closed. A hard link cannot be distinguished from its file, so reading through one inside the
 * roots is allowed; writing replaces the name and leaves the shared file unchanged.
 */
export function nodeFiles(options: NodeFilesOptions): Files {
  checkShape<NodeFilesOptions>("nodeFiles", options, optionsShape)
  const { roots, readOnlyRoots = [], hidden = [], redoFolder } = options
  const confinement = confineTo(roots, readOnlyRoots, hidden)
  return filesIn(new Access(confinement, new FileCommits(confinement, redoFolder), new Locks(), noGuard))
}

function filesIn(access: Access): Files {
  const { confinement, locks, guard } = access
  return {
    guarded: (further) => filesIn(access.guarded(further)),

    display: confinement.display,

    info: (path, cwd) =>
      access.existing(path, cwd, async ({ stats }) => ({
        kind: kindOf(stats),
        size: stats.size,
        modifiedMs: stats.mtimeMs,
        version: versionOf(stats),
      })),

    read: (path, cwd, range) =>
      access.existing(path, cwd, async (pin) => (await readPinned(pin, (size) => rangeWithin(size, range))).bytes),

    list: (path, cwd) =>
      access.existing(path, cwd, async (pin) => {
        if (!pin.stats.isDirectory()) throw new ToolError("invalid_input", "is not a folder")
        const entries = await readdir(pin.place, { withFileTypes: true })
        await pin.recheck()
        const isShown = ({ name }: Dirent) => {
          const real = join(pin.real, name)
          return !isOurs(name) && !confinement.hides(real) && mayRead(guard, real)
        }
        return entries.filter(isShown).map(toEntry)
      }),

    write: (path, cwd, bytes, options) =>
      access.named(
        path,
        cwd,
        async () => {
          const location = await confinement.locate(path, cwd, "write")
          return locks.run(placeOf(location), () => write(access, location, bytes, options?.version))
        },
        { toWrite: true },
      ),

    update: (path, cwd, change) =>
      access.named(
        path,
        cwd,
        async () => {
          const location = await confinement.locate(path, cwd, "write")
          if (location.missing.length > 0) throw new ToolError("not_found", "does not exist")
          await locks.run(placeOf(location), async () => {
            const pin = await confinement.pin(location.real, "write")
            const { bytes, stats } = await closing(pin, async () => {
              // A change that fails reveals what the file contains.
              guard(pin.real, "read")
              return readPinned(pin, (size) => rangeWithin(size))
            })
            await write(access, location, changed(change, bytes), versionOf(stats))
          })
        },
        { toWrite: true },
      ),

    commit: (changes, cwd) => commitChanges(access, changes, cwd),
  }
}

/** The way to a path: where it may lead, and failures that name it as its author knows it. */
class Access {
  readonly confinement: Confinement
  readonly commits: FileCommits
  readonly locks: Locks
  readonly guard: FileGuard

  constructor(confinement: Confinement, commits: FileCommits, locks: Locks, guard: FileGuard) {
    this.confinement = confinement
    this.commits = commits
    this.locks = locks
    this.guard = guard
  }

  guarded(further: FileGuard): Access {
    return new Access(this.confinement, this.commits, this.locks, bothGuards(this.guard, further))
  }

  /** Every failure names the path as its author knows it, never where it led. */
  async named<Value>(path: string, cwd: string, work: () => Promise<Value>, { toWrite = false } = {}): Promise<Value> {
    try {
      await this.commits.settled(toWrite)
      return await work()
    } catch (error) {
      throw error instanceof Refusal ? error.error : toToolError(error, this.confinement.display(path, cwd))
    }
  }

  /** Uses what exists, pinned for as long. */
  existing<Value>(path: string, cwd: string, use: (pin: Pin) => Promise<Value>): Promise<Value> {
    return this.named(path, cwd, async () => {
      const { real, missing } = await this.confinement.locate(path, cwd, "read")
      if (missing.length > 0) throw new ToolError("not_found", "does not exist")
      const pin = await this.confinement.pin(real, "read")
      return closing(pin, async () => {
        this.guard(pin.real, "read")
        return use(pin)
      })
    })
  }
}

async function commitChanges(access: Access, changes: readonly FileChange[], cwd: string): Promise<void> {
  const [first] = changes
  if (first === undefined) return
  await access.named(first.path, cwd, async () => {}, { toWrite: true })
  const locate = () =>
    Promise.all(
      changes.map((change) => access.named(change.path, cwd, () => locateChange(access.confinement, change, cwd))),
    )
  const places = (await locate()).map(({ at }) => placeOf(at))
  try {
    // Resolved again: the previous lock holder may have created missing parts.
    await access.locks.runAll(places, async () => {
      await access.commits.commit(await locate(), (path, work) => access.named(path, cwd, work), access.guard)
    })
  } catch (error) {
    throw error instanceof ToolError ? error : toToolError(error, "A change of several files")
  }
}

async function locateChange(confinement: Confinement, change: FileChange, cwd: string): Promise<Located> {
  const at = await confinement.locate(change.path, cwd, "write")
  return {
    change,
    at,
    ...(change.like !== undefined && { like: await confinement.locate(change.like, cwd, "read") }),
  }
}

async function write(
  { confinement, guard }: Access,
  { real, missing }: Location,
  bytes: Uint8Array,
  version?: string,
): Promise<{ created: boolean }> {
  const name = missing.at(-1) ?? basename(real)
  if (missing.length > 0) {
    if (version !== undefined) requireVersion(undefined, version)
    const folder = await makeFolders(confinement, real, missing, guard)
    return closing(folder, async (pin) => {
      guard(join(pin.real, name), "write")
      return replaceFile(pin, name, bytes)
    })
  }
  // Checked before its parent, which for a root is outside.
  await closing(await confinement.pin(real, "write"), async ({ stats }) => requireFile(stats))
  return closing(await confinement.pin(dirname(real), "write"), async (pin) => {
    guard(join(pin.real, name), "write")
    return replaceFile(pin, name, bytes, version)
  })
}

async function readPinned(
  pin: Pin,
  rangeOf: (size: number) => { readonly offset: number; readonly length: number },
): Promise<{ bytes: Uint8Array; stats: Stats }> {
  requireFile(pin.stats)
  // The two flags guard against replacements where the file could not be pinned.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
  return closing(await open(pin.place, flags), async (handle) => {
    const stats = await handle.stat()
    requireFile(stats)
    await pin.recheck()
    return { bytes: await readRange(handle, rangeOf(stats.size)), stats }
  })
}

function rangeWithin(size: number, range: { readonly offset: number; readonly limit: number } = everything) {
  const length = Math.max(0, Math.min(range.limit, size - range.offset))
  if (length > maxReadBytes) throw new ToolError("invalid_input", "is too large to read at once")
  return { offset: range.offset, length }
}

const everything = { offset: 0, limit: Infinity }
const maxReadBytes = 1024 ** 3

async function readRange(
  handle: FileHandle,
  { offset, length }: { offset: number; length: number },
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

const failures: Readonly<Record<string, readonly [code: ToolErrorCode, what: string]>> = {
  ENOENT: ["not_found", "does not exist"],
  ENOTDIR: ["not_found", "does not exist"],
  EACCES: ["denied", "is not accessible to this process"],
  EPERM: ["denied", "is not accessible to this process"],
  EROFS: ["denied", "is on a read-only file system"],
  ELOOP: ["denied", "is a symbolic link that points to itself"],
  ENXIO: ["invalid_input", "is not a regular file"],
  EISDIR: ["conflict", "became a folder in the meantime"],
  ENAMETOOLONG: ["invalid_input", "has a name that is too long"],
  EEXIST: ["conflict", "was created by another process in the meantime"],
}

/** The caller's own errors keep their messages. */
class Refusal {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

function changed(change: (bytes: Uint8Array) => Uint8Array, bytes: Uint8Array): Uint8Array {
  try {
    return change(bytes)
  } catch (error) {
    throw new Refusal(error)
  }
}

function toToolError(error: unknown, name: string): ToolError {
  if (error instanceof ToolError) return new ToolError(error.code, `${name} ${error.message}.`, { cause: error })
  const errno = errnoOf(error)
  const [code, what] = failures[errno] ?? ["io", `could not be used (${errno})`]
  return new ToolError(code, `${name} ${what}.`, { cause: error })
}
