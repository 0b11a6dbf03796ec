import * as fs from "node:fs"
import { promisify } from "node:util"
import { LonghaulError } from "../../../contract/error.ts"
import { errnoOf } from "../errno.ts"

// The promisified callback API: a FileHandle costs about twice the CPU for one small write.
const open = promisify(fs.open)
const close = promisify(fs.close)
export const link = promisify(fs.link)
export const unlink = promisify(fs.unlink)
export const rename = promisify(fs.rename)
const fdatasync = promisify(fs.fdatasync)
const fstat = promisify(fs.fstat)
const read = promisify(fs.read)
const readFile = promisify(fs.readFile)
const readdir = promisify(fs.readdir)

/** Every error of the disk is `storage`: retryable, since space and permissions come back. */
export function storageError(doing: string, cause: unknown): LonghaulError {
  if (LonghaulError.is(cause)) return cause
  const reason = errnoOf(cause)
  return new LonghaulError("storage", `Could not ${doing}: ${reason}.`, {
    cause,
    fix:
      reason === "ENOSPC"
        ? "Free some disk space, then resume the run."
        : "Check the store's folder and its permissions.",
    data: { errno: reason },
  })
}

/** Reading again will not help: what is there is not what the store wrote, or may not be read. */
const lasting: ReadonlySet<string> = new Set(["EISDIR", "ELOOP", "EACCES", "EPERM", "EIO"])

/** A failed read of one file. */
export function readError(doing: string, cause: unknown): LonghaulError {
  const error = storageError(doing, cause)
  if (!lasting.has(errnoOf(cause))) return error
  const { code, message, ...others } = error.toJSON()
  return new LonghaulError(code, message, { ...others, cause, retryable: false })
}

/** A file in place of a folder is like no folder. */
function isMissing(error: unknown): boolean {
  return errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR"
}

/** Writes everything or rejects with `storage`: a short write is a failed one. */
export function writeWhole(fd: number, bytes: Uint8Array, doing: string): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, 0, bytes.length, null, (error, written) => {
      if (error) reject(storageError(doing, error))
      else if (written !== bytes.length)
        reject(new LonghaulError("storage", `Only ${written} of ${bytes.length} bytes could be written.`))
      else resolve()
    })
  })
}

/** For a file without unsynced data: there is nothing to wait for. */
export async function closeSynced(fd: number): Promise<void> {
  fs.closeSync(fd)
}

/** A new file, complete and durable under its own name; the caller syncs the directory entry. */
export async function writeNew(path: string, bytes: Uint8Array, sync: boolean): Promise<void> {
  const fd = await open(path, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY, 0o600)
  try {
    await writeWhole(fd, bytes, "write a file")
    if (sync) await fdatasync(fd)
  } finally {
    await close(fd)
  }
}

/** Synchronous on purpose: a name costs some microseconds, a trip through the thread pool more. Rejects what exists. */
export function createEmpty(path: string): void {
  fs.closeSync(fs.openSync(path, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY, 0o600))
}

/** A missing file is removed already; one that cannot be removed does no harm. */
export function discard(path: string): void {
  try {
    fs.unlinkSync(path)
  } catch {}
}

export async function syncFile(path: string): Promise<void> {
  const fd = await open(path, fs.constants.O_RDONLY)
  try {
    await fdatasync(fd)
  } finally {
    await close(fd)
  }
}

export async function readWhole(path: string): Promise<Uint8Array | null> {
  try {
    // Plain bytes: those of a long run are sliced often, and a Buffer's methods cost more.
    const { buffer, byteOffset, length } = await readFile(path)
    return new Uint8Array(buffer, byteOffset, length)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export async function readFrom(path: string, offset: number): Promise<Uint8Array | null> {
  let fd: number | undefined
  try {
    // Followers ask often, mostly without new data: a synchronous stat costs a microsecond; opening the file costs a trip to a thread.
    const { size } = fs.statSync(path)
    if (size <= offset) return new Uint8Array()
    fd = await open(path, "r")
    const length = Math.max(0, (await fstat(fd)).size - offset)
    const buffer = new Uint8Array(length)
    const { bytesRead } = await read(fd, buffer, 0, length, offset)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  } finally {
    if (fd !== undefined) await close(fd)
  }
}

/** Names in a folder, sorted, without incomplete files. */
export async function names(path: string): Promise<string[]> {
  try {
    // Usually called for runs that do not exist yet: a synchronous check costs less than a thread.
    if (fs.statSync(path, { throwIfNoEntry: false }) === undefined) return []
    return (await readdir(path)).filter((name) => !name.startsWith(".tmp-")).sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
