import { writeSync } from "node:fs"
import { pathToFileURL } from "node:url"

/** Runs `longhaul --help` in this process; its last line has the CPU time used for it, and before it. */
const [node, , program] = process.argv
const before = process.cpuUsage()
process.on("exit", () => {
  const { user, system } = process.cpuUsage(before)
  const figures = { bareMs: (before.user + before.system) / 1000, cpuMs: (user + system) / 1000 }
  writeSync(1, `${JSON.stringify(figures)}\n`)
})
process.argv = [node, program, "--help"]
await import(pathToFileURL(program).href)
