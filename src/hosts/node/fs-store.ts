import { constants, openSync, statfsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { AppendFile, Appending, Folder, Store } from "../../contract/store.ts"
import { newNonce } from "../../lib/id.ts"
import * as disk from "./disk.ts"

export interface FsStoreOptions {
  /** Hears why a file system is used in the slower, create-only form. */
  readonly warn?: (message: string) => void
}

/**
 * Runs on the local disk. Appends where looks are coherent (ext, xfs, btrfs, tmpfs, overlay, apfs); on any other file
 * system it takes the create-only form, which needs no look.
 */
export function fsStore(root: string, options: FsStoreOptions = {}): Store {
  if (isCoherent(root)) return diskStore(root, true)
  options.warn?.(
    `The file system under ${root} may answer looks from a cache: runs are kept in create-only form, which is slower.`,
  )
  return diskStore(root, false)
}

/** Runs on any POSIX file system with link(2): one file per flush. For NFS, SMB, virtiofs. */
export function createOnlyStore(root: string): Store {
  return diskStore(root, false)
}

function diskStore(root: string, appends: boolean): Store {
  const base = resolve(root)
  const folders = new disk.DurableFolders(base)
  return {
    location: base,
    folder: (path) => new DiskFolder(`${base}/${path}`, appends, folders),
    list: (path) => attempt(`list ${path}`, disk.names(`${base}/${path}`)),
  }
}

/** A class: a process may have thousands of them, and functions of their own for each would be most of what a run keeps. */
class DiskFolder implements Folder {
  readonly location: string
  readonly append?: Appending
  readonly #folders: disk.DurableFolders

  constructor(path: string, appends: boolean, folders: disk.DurableFolders) {
    this.location = path
    this.#folders = folders
    if (appends) this.append = new DiskAppending(path, folders)
  }

  read(name: string): Promise<Uint8Array | null> {
    return attempt(`read ${name}`, disk.readWhole(this.#at(name)))
  }

  exists(name: string): Promise<boolean> {
    return isThere(this.#at(name))
  }

  list(): Promise<readonly string[]> {
    return attempt("list the run's folder", disk.names(this.location))
  }

  create(name: string, bytes: Uint8Array): Promise<"created" | "exists"> {
    return attempt(`create ${name}`, createWhole(this.#at(name), bytes, this.#folders))
  }

  replace(name: string, bytes: Uint8Array): Promise<void> {
    return attempt(`write ${name}`, replaceWhole(this.#at(name), bytes, this.#folders))
  }

  delete(name: string): Promise<void> {
    return attempt(`delete ${name}`, deleteIfThere(this.#at(name)))
  }

  #at(name: string): string {
    return `${this.location}/${name}`
  }
}

/** Synchronous on purpose: a stat of a local name takes a microsecond, a trip through the thread pool twenty. */
async function isThere(path: string): Promise<boolean> {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw disk.storageError(`look for ${path}`, error)
  }
}

class DiskAppending implements Appending {
  readonly #path: string
  readonly #folders: disk.DurableFolders

  constructor(path: string, folders: disk.DurableFolders) {
    this.#path = path
    this.#folders = folders
  }

  open(name: string): Promise<AppendFile | null> {
    return attempt(`create ${name}`, openShard(`${this.#path}/${name}`, this.#folders))
  }

  readFrom(name: string, offset: number): Promise<Uint8Array | null> {
    return attempt(`read ${name}`, disk.readFrom(`${this.#path}/${name}`, offset))
  }

  sync(name: string): Promise<void> {
    return attempt(`sync ${name}`, disk.syncFile(`${this.#path}/${name}`))
  }

  syncFolder(): Promise<void> {
    return attempt("sync the run's folder", disk.syncFolder(this.#path))
  }
}

class Shard implements AppendFile {
  readonly #fd: number

  constructor(fd: number) {
    this.#fd = fd
  }

  write(bytes: Uint8Array): Promise<void> {
    return disk.writeWhole(this.#fd, bytes, "append to the journal")
  }

  close(): Promise<void> {
    return attempt("close the journal", disk.closeSynced(this.#fd))
  }
}

/** O_DSYNC: the write returns when its bytes are on disk, which costs less than a write and an fdatasync. */
async function openShard(path: string, folders: disk.DurableFolders): Promise<AppendFile | null> {
  await folders.make(dirname(path))
  const { O_CREAT, O_EXCL, O_WRONLY, O_APPEND, O_DSYNC } = constants
  try {
    return new Shard(openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_DSYNC, 0o600))
  } catch (error) {
    if (disk.errno(error) === "EEXIST") return null
    throw error
  }
}

/** Appears whole or not at all: written under another name, synced, then linked. */
async function createWhole(
  path: string,
  bytes: Uint8Array,
  folders: disk.DurableFolders,
): Promise<"created" | "exists"> {
  const folder = dirname(path)
  await folders.make(folder)
  const temporary = `${folder}/.tmp-${newNonce()}`
  try {
    await disk.writeNew(temporary, bytes, true)
    await disk.link(temporary, path)
    await disk.syncFolder(folder)
    return "created"
  } catch (error) {
    if (disk.errno(error) !== "EEXIST") throw error
    // It may be our own, linked by an attempt that failed before its name was durable.
    await disk.syncFolder(folder)
    return "exists"
  } finally {
    await disk.unlink(temporary).catch(() => {})
  }
}

async function replaceWhole(path: string, bytes: Uint8Array, folders: disk.DurableFolders): Promise<void> {
  const folder = dirname(path)
  await folders.make(folder)
  const temporary = `${folder}/.tmp-${newNonce()}`
  try {
    await disk.writeNew(temporary, bytes, false)
    await disk.rename(temporary, path)
  } catch (error) {
    await disk.unlink(temporary).catch(() => {})
    throw error
  }
}

async function deleteIfThere(path: string): Promise<void> {
  try {
    await disk.unlink(path)
  } catch (error) {
    if (disk.errno(error) !== "ENOENT") throw error
  }
}

async function attempt<T>(doing: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw disk.storageError(doing, error)
  }
}

/** File systems on which a name created by one process is seen at once by every other. */
const coherentTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0x794c7630, // overlay
  0x1a, // apfs
])

export function isCoherent(root: string): boolean {
  let existing = resolve(root)
  while (statSync(existing, { throwIfNoEntry: false }) === undefined) existing = dirname(existing)
  return coherentTypes.has(statfsSync(existing).type)
}
