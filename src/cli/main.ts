#!/usr/bin/env node
// Everything else is loaded only then: an older Node would fail on it in words that help nobody.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major > 20 || (major === 20 && minor >= 19)) await import("./program.ts")
else {
  process.stderr.write(`Longhaul needs Node 20.19 or newer; this is Node ${process.versions.node}.\n`)
  process.stderr.write("Install a newer one, such as with: npx --package=node@22 longhaul\n")
  process.exitCode = 1
}
