#!/usr/bin/env node
// Everything else is loaded after this check: on an older Node it would fail with an unhelpful error.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major > 20 || (major === 20 && minor >= 19)) await import("./program.ts")
else {
  process.stderr.write(`Longhaul needs Node 20.19 or later; this is Node ${process.versions.node}.\n`)
  process.stderr.write("Install a newer version, for example with: npx --package=node@22 longhaul\n")
  process.exitCode = 1
}
