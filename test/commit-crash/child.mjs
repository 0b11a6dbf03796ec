// Changes or reads a workspace, and triggers an event at its n-th operation that changes the disk.
import { constants, readlinkSync, writeSync } from "node:fs"
import fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"

/** The event at operation `at`: kill-before, kill-after, kill-within, stop-before, stop-within, fail; or none. */
const { files: url, workspace, redoFolder, changes, at, what } = JSON.parse(process.argv[2])
const trace = []
process.umask(0o022)

for (const name of ["open", "mkdir", "rename", "rm", "rmdir", "unlink"]) {
  const actual = fs[name]
  fs[name] = (path, ...rest) => {
    if (name === "open" && !(Number(rest[0]) & constants.O_CREAT)) return actual(path, ...rest)
    const paths = name === "rename" ? [path, rest[0]] : [path]
    return operation(name, paths.map(real), () => actual(path, ...rest))
  }
}
syncBuiltinESMExports()

const handle = await fs.open("/")
const methods = Object.getPrototypeOf(handle)
await handle.close()
for (const name of ["writeFile", "chmod", "sync"]) {
  const actual = methods[name]
  methods[name] = function (...given) {
    const half = name === "writeFile" && (() => this.write(given[0], 0, given[0].length >> 1, 0))
    return operation(name, [real(`/proc/self/fd/${this.fd}`)], () => actual.apply(this, given), half)
  }
}

async function operation(name, paths, work, half) {
  const isIt = trace.push([name, ...paths]) === at
  if (!isIt) return work()
  if (what === "fail") throw Object.assign(new Error("EIO: made up"), { code: "EIO" })
  if (what.endsWith("-before")) strike()
  if (what.endsWith("-within")) {
    await half?.()
    strike()
  }
  try {
    return await work()
  } finally {
    if (what === "kill-after") strike()
  }
}

function strike() {
  if (what.startsWith("stop")) writeSync(1, "stopped\n")
  process.kill(process.pid, what.startsWith("stop") ? "SIGSTOP" : "SIGKILL")
}

/** The path of a descriptor that is used as one. */
function real(path) {
  return String(path).replace(/^\/proc\/self\/fd\/\d+/, (descriptor) => readlinkSync(descriptor))
}

const { nodeFiles } = await import(url)
const files = nodeFiles({ roots: [workspace], redoFolder })
const told = { error: null }
if (changes) {
  const encoded = changes.map(({ content, ...change }) => ({ ...change, content: content && Buffer.from(content) }))
  await files.commit(encoded, workspace).catch(({ code }) => {
    told.error = code
  })
}
await files.read("untouched.txt", workspace)
process.stdout.write(JSON.stringify({ ...told, trace }))
