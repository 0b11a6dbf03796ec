import { readFileSync, readlinkSync } from "node:fs"
import type { JsonObject } from "../../contract/json.ts"

/**
 * Identifies this process, so that a successor on the same boot can detect that it is dead. Linux only; elsewhere the
 * pid.
 */
export function processOwner(): JsonObject {
  const { pid } = process
  const self = statOf("self")
  if (self === undefined) return { pid }
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    return { boot, pidns: readlinkSync("/proc/self/ns/pid"), pid, started: self.started }
  } catch {
    return { pid }
  }
}

/**
 * True if a process is known to be dead. `isLocal`: it can only have run on this machine, so that another boot is an
 * earlier one. Otherwise another boot is another machine, whose state is unknown.
 */
export function isDead(owner: JsonObject, isLocal: boolean): boolean {
  const self = processOwner()
  if (owner.boot === undefined || self.boot === undefined) return isLocal && isDeadPid(owner, self)
  if (owner.boot !== self.boot) return isLocal
  if (owner.pidns !== self.pidns) return false
  const found = statOf(String(owner.pid))
  return found === undefined || found.started !== owner.started || found.isDead
}

interface ProcessStat {
  readonly started: number
  /** A zombie: it has ended, and its parent has not read its exit code. */
  readonly isDead: boolean
}

/** Fields 3, 20 and 22, counted after the command's name, which may contain spaces and brackets. */
function statOf(process: string): ProcessStat | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${process}/stat`, "utf8")
  } catch {
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  // A process with other active threads has not ended, whatever its main thread's state.
  const isDead = (fields[0] === "Z" || fields[0] === "X") && Number(fields[17]) <= 1
  return { started: Number(fields[19]), isDead }
}

/** If both have only a pid. On Linux a pid without its namespace identifies no process. */
function isDeadPid(owner: JsonObject, self: JsonObject): boolean {
  if (owner.boot !== self.boot || process.platform === "linux" || typeof owner.pid !== "number") return false
  try {
    process.kill(owner.pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
}
