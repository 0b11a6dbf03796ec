// Measures a run in which one tool result has 5 MB: Longhaul with offloading against the hand-written loops, which send it with
// every request. Usage: npm run build && node bench/offload.mjs [--assert] [--reps <n>]
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { median } from "./measure.mjs"
import { runScript } from "./processes.mjs"
import { figure, layOut } from "./report.mjs"

const { values } = parseArgs({ options: { assert: { type: "boolean" }, reps: { type: "string", default: "7" } } })
const goal = 0.5
const bytes = 5 * 1024 * 1024
/** The call, then ten requests with its result. */
const turns = 11
const subjects = ["floor", "durable-floor", "ours-offload"]

const root = mkdtempSync(join(tmpdir(), "longhaul-bench-offload-"))
const server = fork(join(import.meta.dirname, "offload-server.mjs"), [String(turns)])
try {
  const [port] = await once(server, "message")
  const samples = Object.fromEntries(subjects.map((subject) => [subject, []]))
  for (let rep = 0; rep < Number(values.reps); rep++) {
    for (let index = 0; index < subjects.length; index++) {
      const subject = subjects[(rep + index) % subjects.length]
      samples[subject].push(await sample(subject, `http://127.0.0.1:${port}`))
    }
  }
  const cpuOf = (subject) => median(samples[subject].map(({ cpuMs }) => cpuMs))
  const ours = cpuOf("ours-offload")
  const lines = subjects.map((subject) => {
    const sizes = samples[subject][0].sizes.slice(1)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    return [subject, figure(cpuOf(subject), "ms"), figure(ours / cpuOf(subject)), String(total), sizes.join(" ")]
  })
  console.log(layOut([["one result of 5 MB", "CPU", "ours ÷", "prompt bytes, ten turns", "each"], ...lines]))
  const held = ours / cpuOf("floor")
  console.log(`\nours ÷ floor: ${figure(held)}, goal ≤ ${figure(goal)}: ${held <= goal ? "met" : "MISS"}`)
  if (values.assert && held > goal) process.exitCode = 1
} finally {
  server.kill("SIGKILL")
  rmSync(root, { recursive: true, force: true })
}

async function sample(subject, baseUrl) {
  const dir = mkdtempSync(join(root, `${subject}-`))
  const figures = await runScript("offload-child.mjs", JSON.stringify({ subject, baseUrl, dir, bytes }), 60_000)
  server.send("sizes")
  const [sizes] = await once(server, "message")
  if (sizes.length !== turns) throw new Error(`${subject}: ${sizes.length} requests, not ${turns}`)
  return { ...figures, sizes }
}
