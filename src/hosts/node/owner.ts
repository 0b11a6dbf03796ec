import { readFileSync, readlinkSync } from "node:fs"
import type { JsonObject } from "../../contract/json.ts"

/** Who this process is, so that a successor on the same boot can tell that it is gone. Linux only; elsewhere the pid. */
export function processOwner(): JsonObject {
  try {
    return {
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      pidns: readlinkSync("/proc/self/ns/pid"),
      pid: process.pid,
      started: startIn(readFileSync("/proc/self/stat", "utf8")),
    }
  } catch {
    return { pid: process.pid }
  }
}

/** Whether a process is known to be gone. One of another machine or container is not: nobody here can tell. */
export function isGone(owner: JsonObject): boolean {
  const self = processOwner()
  if (self.boot === undefined || owner.boot === undefined) return !answers(Number(owner.pid))
  if (owner.boot !== self.boot) return true
  if (owner.pidns !== self.pidns) return false
  return startOf(Number(owner.pid)) !== owner.started
}

function startOf(pid: number): number | undefined {
  try {
    return startIn(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return undefined
  }
}

/** Field 22, counted behind the command's name, which may hold spaces and brackets. */
function startIn(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19])
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}
