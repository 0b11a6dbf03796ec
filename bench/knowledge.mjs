// Measures the searches of a run in a knowledge base of 5,000 sections: with its index, and building it for the run. Each sample is a
// fresh process. Usage: npm run build && node bench/knowledge.mjs [--assert] [--reps <n>]
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { median } from "./measure.mjs"
import { runScript } from "./processes.mjs"
import { figure, layOut } from "./report.mjs"

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "..", "dist")
const files = 500
const sectionsPerFile = 10
const searches = 40
const goal = 0.5

if (process.argv[2]?.startsWith("{")) await child(JSON.parse(process.argv[2]))
else await compare()

async function compare() {
  const { values } = parseArgs({ options: { assert: { type: "boolean" }, reps: { type: "string", default: "7" } } })
  const root = mkdtempSync(join(tmpdir(), "longhaul-bench-knowledge-"))
  try {
    const { store, knowledge } = await opened(root)
    await fill(store)
    const samples = { built: [], indexed: [] }
    for (const subject of ["built", "indexed"]) {
      if (subject === "indexed") await knowledge.writeKnowledgeIndex({ store, base: "base" })
      for (let rep = 0; rep < Number(values.reps); rep++) {
        samples[subject].push(await runScript("knowledge.mjs", JSON.stringify({ root }), 120_000))
      }
    }
    const p50 = (subject, key) => median(samples[subject].map((sample) => sample[key]))
    const rows = [
      ["index built for the run", "built"],
      ["index in the store", "indexed"],
    ].map(([title, subject]) => [
      title,
      ...["firstMs", "searchMs", "cpuMs", "rssMb"].map((key) =>
        figure(p50(subject, key), key.endsWith("Mb") ? "MB" : "ms"),
      ),
    ])
    const head = [
      `${files * sectionsPerFile} sections, p50`,
      "first search",
      "another search",
      `CPU, ${searches} searches`,
      "memory",
    ]
    console.log(layOut([head, ...rows]))
    const { size } = statSync(join(root, "workspaces/default/knowledge/base/_index.json"))
    const ratio = p50("indexed", "firstMs") / p50("built", "firstMs")
    console.log(`\n_index.json: ${figure(size / 1e6, "MB")}`)
    console.log(
      `first search, index ÷ built: ${figure(ratio)}, goal ≤ ${figure(goal)}: ${ratio <= goal ? "met" : "MISS"}`,
    )
    if (values.assert && ratio > goal) process.exitCode = 1
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** What one run does: opens the knowledge and searches it. */
async function child({ root }) {
  const { store, knowledge } = await opened(root)
  const before = process.cpuUsage()
  const library = await knowledge.openKnowledge({ store })
  const times = []
  for (let number = 0; number < searches; number++) {
    const start = performance.now()
    const hits = await library.search(`${wordOf(number * 7)} ${wordOf(number * 13 + 5)} topic${number * 11}`, {
      limit: 5,
    })
    times.push(performance.now() - start)
    if (hits.length !== 5) throw new Error(`${hits.length} hits`)
  }
  const { user, system } = process.cpuUsage(before)
  const [firstMs, ...others] = times
  const rssMb = process.memoryUsage().rss / 1e6
  console.log(JSON.stringify({ firstMs, searchMs: median(others), cpuMs: (user + system) / 1000, rssMb }))
}

async function opened(root) {
  const { fsStore } = await import(join(dist, "hosts/node/index.js"))
  return { store: fsStore(root), knowledge: await import(join(dist, "hosts/node/knowledge/index.js")) }
}

async function fill(store) {
  const folder = store.folder("workspaces/default/knowledge/base")
  for (let file = 0; file < files; file++) {
    const sections = Array.from({ length: sectionsPerFile }, (_, part) => {
      const number = file * sectionsPerFile + part
      const words = Array.from({ length: 120 }, (_, at) => wordOf((number * 31 + at * at * 17) % 4999))
      return `## ${wordOf(number)} topic${number}\n\n${words.join(" ")}\n`
    })
    await folder.replace(`file-${file}.md`, new TextEncoder().encode(`# File ${file}\n\n${sections.join("\n")}`))
  }
}

/** A word of two to four syllables. */
function wordOf(number) {
  const syllables = ["ka", "lo", "mi", "ter", "sun", "bra", "ve", "dor", "nis", "ful"]
  return [...String(number % 5000)].map((digit) => syllables[Number(digit)]).join("")
}
