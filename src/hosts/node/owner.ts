import { readFileSync, readlinkSync } from "node:fs"
import type { JsonObject } from "../../contract/json.ts"

/** Who this process is, so that a successor on the same boot can tell that it is gone. Linux only; elsewhere the pid. */
export function processOwner(): JsonObject {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8")
    return {
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      pidns: readlinkSync("/proc/self/ns/pid"),
      pid: process.pid,
      // Field 22, counted behind the command's name, which may hold spaces and brackets.
      started: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]),
    }
  } catch {
    return { pid: process.pid }
  }
}
