/** Imports what it is told and says what CPU that took, and what this process had taken before. */
const before = process.cpuUsage()
await import(process.argv[2])
const { user, system } = process.cpuUsage(before)
process.stdout.write(
  `${JSON.stringify({ bareMs: (before.user + before.system) / 1000, cpuMs: (user + system) / 1000 })}\n`,
)
