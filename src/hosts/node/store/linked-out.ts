import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, realpathSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { errnoOf } from "../errno.ts"
import { insidePath, realPathOf } from "../files/confine.ts"

/** Reads a file of a folder. Null: it does not exist, is not a file, or a symbolic link leads out of the folder. */
export function readInside(folder: string, path: string): Uint8Array | null {
  let fd: number | undefined
  try {
    // Without waiting: a named pipe has no writer.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!fstatSync(fd).isFile() || leadsOut(folder, openedPath(fd, path))) return null
    const { buffer, byteOffset, length } = readFileSync(fd)
    return new Uint8Array(buffer, byteOffset, length)
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR" || errnoOf(error) === "ELOOP") return null
    throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** True if a symbolic link on the path, which exists, leads out of the folder. The folder itself may not be one either. */
export function leadsOut(folder: string, path: string): boolean {
  return insidePath(join(realPathOf(dirname(folder)), basename(folder)), realPathOf(path)) === undefined
}

/** The opened file, not what the name leads to by now. */
function openedPath(fd: number, path: string): string {
  const place = `/proc/self/fd/${fd}`
  if (hasDescriptorPaths) return realpathSync.native(place)
  const real = realPathOf(path)
  const [opened, named] = [fstatSync(fd), statSync(real)]
  return opened.ino === named.ino && opened.dev === named.dev ? real : "/"
}

const hasDescriptorPaths = process.platform === "linux" && existsSync("/proc/self/fd")
