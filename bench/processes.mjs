import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

/** Children get nothing that could change the measurement: no NODE_OPTIONS, no proxies. */
const env = Object.fromEntries(
  ["PATH", "HOME", "TMPDIR", "BENCH_DIST", "BENCH_OBSERVED"].flatMap((name) =>
    process.env[name] ? [[name, process.env[name]]] : [],
  ),
)
const running = new Set()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130))

/**
 * Runs a script of this folder in a fresh process; resolves with its last line, which is JSON, rejects with the
 * failure.
 */
export async function runScript(script, argument, timeoutMs, moreEnv = {}) {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), argument], {
    env: { ...env, ...moreEnv },
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "pipe"],
  })
  track(child)
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    child.kill("SIGKILL")
  }, timeoutMs)
  const said = { stdout: "", stderr: "" }
  for (const stream of ["stdout", "stderr"]) {
    child[stream].setEncoding("utf8").on("data", (text) => {
      said[stream] += text
    })
  }
  const [code] = await once(child, "close")
  clearTimeout(timer)
  if (timedOut) throw new Error(`no answer within ${timeoutMs / 1000} s`)
  if (code !== 0) throw new Error(said.stderr.trim().slice(-2000) || `exit ${code}`)
  return JSON.parse(said.stdout.trimEnd().split("\n").at(-1))
}

/** The scripted server. `takeCounts` returns the requests since the last time. */
export async function startServer() {
  const child = fork(join(import.meta.dirname, "server.mjs"), { env })
  track(child)
  const [{ port, securePort, authority }] = await once(child, "message")
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    secureUrl: `https://127.0.0.1:${securePort}`,
    authority,
    async takeCounts() {
      child.send("counts")
      const [counts] = await once(child, "message")
      return counts
    },
    close: () => child.kill("SIGKILL"),
  }
}

function track(child) {
  running.add(child)
  child.on("exit", () => running.delete(child))
}
