/** Imports the given modules and reports the CPU time used for it, and before it. */
const before = process.cpuUsage()
await import(process.argv[2])
const { user, system } = process.cpuUsage(before)
process.stdout.write(
  `${JSON.stringify({ bareMs: (before.user + before.system) / 1000, cpuMs: (user + system) / 1000 })}\n`,
)
