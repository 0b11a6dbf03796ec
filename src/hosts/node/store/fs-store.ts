import {
  constants,
  fstatSync,
  linkSync,
  openSync,
  renameSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, resolve } from "node:path"
import { LonghaulError } from "../../../contract/error.ts"
import type { AppendFile, Appending, Folder, Store } from "../../../contract/store.ts"
import { concatBytes } from "../../../lib/bytes.ts"
import { newNonce } from "../../../lib/id.ts"
import { kindOf } from "../../../lib/known-keys.ts"
import { partOf } from "../../../lib/list-part.ts"
import { checkShape, type Shape } from "../../../lib/schema/shape.ts"
import { errnoOf } from "../errno.ts"
import * as disk from "./disk.ts"
import { DurableFolders, nearestFolder } from "./folders.ts"
import { leadsOut, readInside } from "./linked-out.ts"

export interface FsStoreOptions {
  /** Receives the reason why a file system is used in the slower, create-only format. */
  readonly warn?: (message: string) => void
}

/**
 * Runs on the local disk. Appends if directory lookups are coherent (ext, xfs, btrfs, tmpfs, overlay, apfs); on any
 * other file system it uses the create-only format, which needs no lookups.
 */
export function fsStore(root: string, options: FsStoreOptions = {}): Store {
  checkRoot(root)
  checkShape<FsStoreOptions>("fsStore", options, fsStoreShape)
  if (isCoherent(root)) return diskStore(root, true)
  options.warn?.(
    `The file system of ${root} may serve stale directory lookups: runs are stored in the create-only format, which is slower.`,
  )
  return diskStore(root, false)
}

/** Runs on any POSIX file system with link(2): one file per flush. For NFS, SMB, virtiofs. */
export function createOnlyStore(root: string): Store {
  checkRoot(root)
  return diskStore(root, false)
}

const fsStoreShape: Shape<FsStoreOptions> = { warn: "function" }

function checkRoot(root: unknown): void {
  if (typeof root === "string" && root !== "") return
  throw new LonghaulError("config_invalid", `The folder of the store is ${kindOf(root)}, not a path.`, {
    fix: "Pass the path of a folder.",
  })
}

function diskStore(root: string, appends: boolean): Store {
  const base = resolve(root)
  const folders = new DurableFolders(base)
  return {
    location: base,
    folder: (path) => diskFolder(`${base}/${path}`, appends, folders),
    list: async (path, part) => partOf(await attempt(`list ${path}`, disk.names(`${base}/${path}`)), part),
    within: (path) => confinedStore(base, path, (below) => diskFolder(`${base}/${below}`, appends, folders)),
  }
}

function confinedStore(base: string, root: string, folderAt: Store["folder"]): Pick<Store, "folder" | "list"> {
  const folder = `${base}/${root}`
  const stays = (path: string) => !leadsOut(folder, path)
  return {
    folder(path) {
      const read = async (name: string) => readInside(folder, `${base}/${path}/${name}`)
      return { ...folderAt(path), read: (name) => attempt(`read ${name}`, read(name)) }
    },
    async list(path, part) {
      const place = `${base}/${path}`
      const names = stays(place) ? await attempt(`list ${path}`, disk.names(place)) : []
      return partOf(
        names.filter((name) => stays(`${place}/${name}`)),
        part,
      )
    },
  }
}

/** Makes a folder on first use. `durable`: it also survives a power loss. */
type Standing = (folder: string, need: "visible" | "durable") => Promise<string>

function diskFolder(path: string, appends: boolean, folders: DurableFolders): Folder {
  const at = (name: string) => `${path}/${name}`
  /** The folders that this object made, once each: one that disappeared later was removed, and its run must not continue in a new one. */
  const made = new Map<string, "visible" | "durable">()
  const standing: Standing = async (folder, need) => {
    if (!made.has(folder)) folders.stand(folder)
    if (need === "durable" && made.get(folder) !== "durable") await folders.settle(folder)
    made.set(folder, made.get(folder) === "durable" ? "durable" : need)
    return folder
  }
  return {
    location: path,
    read: (name) => attempt(`read ${name}`, disk.readWhole(at(name)), disk.readError),
    exists: (name) => isThere(at(name)),
    list: () => attempt("list the run's folder", disk.names(path)),
    create: (name, bytes) => attempt(`create ${name}`, createWhole(at(name), bytes, folders, standing)),
    replace: (name, bytes) => attempt(`write ${name}`, replaceWhole(at(name), bytes, standing, appends)),
    delete: (name) => attempt(`delete ${name}`, deleteIfThere(at(name), appends)),
    ...(appends && { append: appending(path, folders) }),
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stats(path)) !== undefined
}

/** Synchronous on purpose: a stat of a local name takes a microsecond, a trip through the thread pool twenty. */
async function stats(path: string): Promise<Stats | undefined> {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (errnoOf(error) === "ENOTDIR") return undefined
    throw disk.storageError(`look for ${path}`, error)
  }
}

function appending(path: string, folders: DurableFolders): Appending {
  return {
    open: (name, first) => attempt(`create ${name}`, openShard(`${path}/${name}`, first, folders)),
    readFrom: (name, offset) => attempt(`read ${name}`, disk.readFrom(`${path}/${name}`, offset), disk.readError),
    sync: (name) => attempt(`sync ${name}`, disk.syncFile(`${path}/${name}`)),
    syncFolder: () => attempt("sync the run's folder", folders.settle(path, "content")),
    // Not imported: only long shards are worth what loading zlib costs.
    crc32: (bytes, start, end) => process.getBuiltinModule("node:zlib").crc32(bytes.subarray(start, end)),
  }
}

class Shard implements AppendFile {
  readonly #path: string
  readonly #fd: number
  readonly #inode: number
  /** The initial bytes of the file, until they are durable. */
  #first: Uint8Array | undefined

  /** `fd` is at the beginning of the file, which contains `first`. */
  constructor(path: string, fd: number, first: Uint8Array) {
    this.#path = path
    this.#fd = fd
    this.#inode = fstatSync(fd).ino
    this.#first = first
  }

  /** The first write repeats the existing bytes, so that one synchronous write makes all of it durable. */
  write(bytes: Uint8Array): Promise<void> {
    const all = this.#first ? concatBytes([this.#first, bytes]) : bytes
    this.#first = undefined
    return disk.writeWhole(this.#fd, all, "append to the journal")
  }

  /** By its name, not by its links: a file that was moved away is not where others look for it. */
  async stands(): Promise<boolean> {
    return (await stats(this.#path))?.ino === this.#inode
  }

  close(): Promise<void> {
    return attempt("close the journal", disk.closeSynced(this.#fd))
  }
}

/**
 * Appears with its first bytes: written under another name, then linked. They are not synced before: a killed process
 * leaves them behind, and after a power loss their content does not matter. O_DSYNC: a write returns when its bytes are
 * on disk, which costs less than a write and an fdatasync. The file's existence becomes durable with its folder, before
 * anything more is written to it.
 */
async function openShard(path: string, first: Uint8Array, folders: DurableFolders): Promise<AppendFile | null> {
  const folder = dirname(path)
  folders.stand(folder)
  const temporary = `${folder}/.tmp-${newNonce()}`
  try {
    writeFileSync(temporary, first, { flag: "wx", mode: 0o600 })
    linkSync(temporary, path)
    return new Shard(path, openSync(path, constants.O_WRONLY | constants.O_DSYNC), first)
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return null
    throw error
  } finally {
    disk.discard(temporary)
  }
}

/** Appears completely or not at all: written under another name, synced, then linked. */
async function createWhole(
  path: string,
  bytes: Uint8Array,
  folders: DurableFolders,
  standing: Standing,
): Promise<"created" | "exists"> {
  const folder = await standing(dirname(path), "durable")
  const temporary = `${folder}/.tmp-${newNonce()}`
  try {
    // A file that holds nothing is whole as soon as it has its name.
    if (bytes.length === 0) disk.createEmpty(path)
    else {
      await disk.writeNew(temporary, bytes, true)
      await disk.link(temporary, path)
    }
    await folders.sync(folder)
    return "created"
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error
    // It may be our own, linked by an attempt that failed before its name was durable.
    await folders.sync(folder)
    return "exists"
  } finally {
    if (bytes.length > 0) await disk.unlink(temporary).catch(() => {})
  }
}

/**
 * `isLocal`: synchronously. Nothing is synced, so on a local disk a small file takes microseconds, and each trip to a thread
 * twenty of them.
 */
async function replaceWhole(path: string, bytes: Uint8Array, standing: Standing, isLocal: boolean): Promise<void> {
  const folder = await standing(dirname(path), "visible")
  const temporary = `${folder}/.tmp-${newNonce()}`
  try {
    if (isLocal) {
      writeFileSync(temporary, bytes, { flag: "wx", mode: 0o600 })
      renameSync(temporary, path)
    } else {
      await disk.writeNew(temporary, bytes, false)
      await disk.rename(temporary, path)
    }
  } catch (error) {
    disk.discard(temporary)
    throw error
  }
}

async function deleteIfThere(path: string, isLocal: boolean): Promise<void> {
  try {
    if (!isLocal) await disk.unlink(path)
    // Looked for first: Node's exception for a missing file costs ten times as much.
    else if (await isThere(path)) unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error
  }
}

function attempt<T>(doing: string, work: Promise<T>, errorOf = disk.storageError): Promise<T> {
  return work.catch((error) => {
    throw errorOf(doing, error)
  })
}

/** File systems on which a name created by one process is immediately visible to every other. */
const coherentTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0x794c7630, // overlay
  0x1a, // apfs
])

export function isCoherent(root: string): boolean {
  return coherentTypes.has(statfsSync(nearestFolder(resolve(root))).type)
}
