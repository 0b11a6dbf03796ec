import { execFile } from "node:child_process"
import { closeSync, constants, openSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { newNonce } from "../../../lib/id.ts"
import { findProgram } from "./find-program.ts"

/** A pipe with both ends open: one to read here, one for all output of a child. */
export interface CommandPipe {
  readonly source: Socket
  readonly sink: number
}

/**
 * A real system pipe. Node's pipes are sockets: a child cannot open /dev/stdout or /dev/stderr on one, and two of them
 * would lose the order of output.
 */
export async function openPipe(folder: string, root: string): Promise<CommandPipe> {
  const path = join(folder, `.pipe-${newNonce()}`)
  await promisify(execFile)(findProgram("mkfifo", { outside: [root] }) ?? "/usr/bin/mkfifo", ["-m", "600", path])
  try {
    // Neither end blocks: the first open does not wait, and the second finds it.
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
