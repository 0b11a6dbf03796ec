import { execFile } from "node:child_process"
import { closeSync, constants, openSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { newNonce } from "../../../lib/id.ts"
import { findProgram } from "./find-program.ts"

/** A pipe with both ends open: one to read from here, one to give to a child for all of its output. */
export interface CommandPipe {
  readonly source: Socket
  readonly sink: number
}

/**
 * A pipe of the system's own. Those that Node makes are sockets: no child can open /dev/stdout or /dev/stderr on one, and
 * two of them would lose the order of what a child says.
 */
export async function openPipe(folder: string, root: string): Promise<CommandPipe> {
  const path = join(folder, `.pipe-${newNonce()}`)
  await promisify(execFile)(findProgram("mkfifo", { outside: [root] }) ?? "/usr/bin/mkfifo", ["-m", "600", path])
  try {
    // Neither end waits for the other: the first need not, and the second finds it.
    const source = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      return {
        source: new Socket({ fd: source, readable: true, writable: false }),
        sink: openSync(path, constants.O_WRONLY),
      }
    } catch (error) {
      closeSync(source)
      throw error
    }
  } finally {
    unlinkSync(path)
  }
}
