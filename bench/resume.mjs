// Measures the cost of resuming a long run, compared with reading and parsing its bytes. Usage: npm run build && node
// bench/resume.mjs [--records n] [--reps n] [--assert]
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { median } from "./measure.mjs"
import { runScript } from "./processes.mjs"
import { figure, layOut } from "./report.mjs"

const goal = 3
const { values } = parseArgs({
  options: {
    records: { type: "string", default: "10000" },
    reps: { type: "string", default: "9" },
    assert: { type: "boolean", default: false },
  },
})
const reps = Number(values.reps)
const subjects = ["parse", "status", "resume"]

if (!existsSync(join(process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist"), "hosts/node/index.js"))) {
  console.error("There is no build: run `npm run build` first.")
  process.exit(2)
}
const root = mkdtempSync(join(tmpdir(), "longhaul-bench-resume-"))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))

const made = join(root, "made")
const { records, turns, folder } = await child({ what: "make", dir: made, records: Number(values.records) })
const shards = readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
const bytes = shards.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
console.log(`${records} records, ${(bytes / records).toFixed(0)} bytes each; CPU, medians of ${reps} fresh processes\n`)

const samples = Object.fromEntries(subjects.map((subject) => [subject, []]))
for (let rep = 0; rep < reps; rep++) {
  for (let index = 0; index < subjects.length; index++) {
    const subject = subjects[(rep + index) % subjects.length]
    // A resumed run has changed and cannot be reused.
    const dir = join(root, `copy-${rep}-${subject}`)
    cpSync(made, dir, { recursive: true })
    const sample = await child({ what: subject, dir })
    const [saw, all] = subject === "parse" ? [sample.records, records] : [sample.turns, turns]
    if (saw !== all) throw new Error(`${subject} saw ${saw} of ${all}`)
    samples[subject].push(sample.cpuMs)
    rmSync(dir, { recursive: true, force: true })
  }
}

const floor = median(samples.parse)
const rows = [
  ["read and JSON.parse every line", "parse"],
  ["runtime.status", "status"],
  ["runtime.resume, up to the first model call", "resume"],
].map(([label, subject]) => {
  const times = median(samples[subject]) / floor
  const isHeld = subject !== "parse"
  const verdict = isHeld ? (times <= goal ? "met" : "MISS") : ""
  return { cells: [label, figure(median(samples[subject]), "ms"), figure(times), isHeld ? `≤ ${goal}` : "", verdict] }
})
console.log(layOut([["", "CPU", "× parse", "goal", ""], ...rows.map(({ cells }) => cells)]))
if (values.assert && rows.some(({ cells }) => cells.includes("MISS"))) process.exitCode = 1

function child(order) {
  return runScript("resume-child.mjs", JSON.stringify(order), 300_000)
}
