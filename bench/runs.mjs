// What a list of runs costs among many: with the index, and by reading every journal.
// Usage: npm run build && node bench/runs.mjs [--runs n]
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { startBucket } from "./bucket.mjs"
import { figure, layOut } from "./report.mjs"

const PAGE = 50
const LATENCY_MS = 20

/** Rows of a table: a page, a filter and a recovery, among `count` runs of which a few are not over. */
export async function listFigures(dist, count, progress = () => {}) {
  const load = (path) => import(pathToFileURL(join(dist, path)).href)
  const { createRuntime, fsStore } = await load("hosts/node/index.js")
  const { s3Store } = await load("stores/s3/index.js")
  const { scriptedModel } = await load("testing/index.js")
  const root = mkdtempSync(join(tmpdir(), "longhaul-bench-runs-"))
  const bucket = startBucket()
  const endpoint = "http://bucket.invalid"
  const stores = {
    disk: { store: fsStore(root), counts: { requests: 0 } },
    bucket: {
      store: s3Store({ bucket: "runs", endpoint, accessKeyId: "k", secretAccessKey: "s", fetch: bucket.fetch }),
      counts: bucket.counts,
    },
  }
  const rows = []
  try {
    for (const [name, { store, counts }] of Object.entries(stores)) {
      counts.latencyMs = 0
      await fill(store, count, createRuntime, scriptedModel, (text) => progress(`${name}: ${text}`))
      counts.latencyMs = name === "bucket" ? LATENCY_MS : 0
      const runtime = () => createRuntime({ store, tools: [], env: {}, workspace: "." })
      const measured = async (label, work, isWhole = false) => {
        progress(`${name}: ${label}`)
        // Everything that is loaded or compiled on first use is not the list's.
        if (!isWhole) await work(runtime())
        counts.requests = 0
        const began = performance.now()
        const found = await work(runtime())
        rows.push({ label: `${name}: ${label}`, ms: performance.now() - began, requests: counts.requests, found })
      }
      await measured(`a page of ${PAGE}`, async (each) => (await each.runs({ limit: PAGE })).length)
      await measured(
        "those that run or wait",
        async (each) => (await each.runs({ status: ["running", "paused"] })).length,
      )
      await measured("recovery", async (each) => (await each.recoverOrphanedRuns({ staleMs: 0 })).length)
      await measured("all of them", async (each) => (await each.runs()).length)
      if (name === "bucket") counts.latencyMs = 0
      await measured("every journal read, one after another", (each) => readAll(store, each), true)
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  progress("")
  return rows
}

/** Runs of one turn, most of them over; the last few wait for an approval. */
async function fill(store, count, createRuntime, scriptedModel, progress) {
  const waiting = Math.min(5, count)
  const ends = createRuntime({ store, tools: [], env: {}, model: scriptedModel(Array(count).fill("Done.")) })
  let begun = 0
  const lane = async () => {
    while (begun < count - waiting) {
      const number = begun++
      if (number % 1000 === 0) progress(`${number} of ${count} runs written`)
      const { status } = await ends.run({ task: `Task ${number}.` })
      if (status !== "done") throw new Error(`a run ended as ${status}`)
    }
  }
  await Promise.all(Array.from({ length: 64 }, lane))
  for (let number = 0; number < waiting; number++) {
    const [last] = await ends.runs({ limit: 1 })
    await ends.fork(last.runId)
  }
  await ends.close()
}

async function readAll(store, runtime) {
  let found = 0
  const projects = "workspaces/default/.longhaul/projects"
  for (const runId of (await store.list(projects)).filter((name) => !name.includes("~"))) {
    for (const nodeId of await store.list(`${projects}/${runId}/nodes`)) {
      if ((await runtime.status(runId, nodeId)).status !== "not_found") found++
    }
  }
  return found
}

export function listTable(rows, count) {
  const head = [`list of runs, ${count} in the store`, "wall", "requests", "found"]
  const body = rows.map(({ label, ms, requests, found }) => [label, figure(ms, "ms"), String(requests), String(found)])
  return `${layOut([head, ...body])}\nbucket: each request takes ${LATENCY_MS} ms; where every journal is read, none`
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { runs: { type: "string", default: "10000" } } })
  const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
  if (!existsSync(join(dist, "hosts/node/index.js"))) {
    console.error("There is no build: run `npm run build` first.")
    process.exit(2)
  }
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`)
  console.log(listTable(await listFigures(dist, Number(values.runs), progress), values.runs))
}
