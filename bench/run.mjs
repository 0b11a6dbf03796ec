import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { measure, measureImport, median } from "./measure.mjs"
import { bundleSizes, cliStart, initialChunk } from "./package-figures.mjs"
import { startServer } from "./processes.mjs"
import { evaluate, figure, layOut, table } from "./report.mjs"
import { listFigures, listTable } from "./runs.mjs"
import { measurements, rows } from "./scenarios.mjs"

const importGoalMs = 40
const LISTED_RUNS = 10_000

const { values: flags } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    reps: { type: "string" },
    json: { type: "boolean", default: false },
    assert: { type: "boolean", default: false },
  },
})
const say = flags.json ? () => {} : console.log
const wanted = (label) => label.toLowerCase().includes(flags.only.toLowerCase())

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
const built = existsSync(join(dist, "hosts/node/index.js"))
const floors = ["floor", "durable-floor"]
const available = built ? [...floors, "ours", "ours-fetch", "ours-policy"] : floors
if (!built) console.error(`No build in ${dist}: only the floors are measured. Run \`npm run build\` first.\n`)

const root = mkdtempSync(join(tmpdir(), "longhaul-bench-"))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))
const fileSystem = fileSystemType(root)
if (fileSystem === "tmpfs") {
  console.error(`${root} is on tmpfs, where a flush costs nothing. Set TMPDIR to a folder on a disk.`)
  process.exit(2)
}
say(`Node ${process.version}, client CPU, medians; journals in ${root} (${fileSystem})\n`)

const chosen = rows.filter((row) => wanted(row.label))
const results = await measureAll(new Set(chosen.map((row) => row.measurement)))
const lines = chosen.map((row) => evaluate(row, results[row.measurement]))
if (lines.length > 0) say(table(lines))

const imports = await imported()
if (imports.length > 0) say(built ? `\n${importTable(imports)}` : "\nimport: not measured, there is no build")

const start = built && wanted("start of the command line") ? await cliStart(dist, reps(9)) : undefined
if (start)
  say(`\n${start.label}: ${figure(start.cpuMs, "ms")} CPU on top of ${figure(start.bareMs, "ms")} of bare node`)
const bundles = built && wanted("bundle") ? [...(await bundleSizes(dist)), ...(await initialChunk(dist))] : []
for (const { label, bytes, gzipped, goal } of bundles)
  say(`${label}: ${bytes} bytes minified, ${gzipped} gzipped${goal ? ` (goal ${goal})` : ""}`)

const lists = built && wanted("list of runs") ? await listFigures(dist, LISTED_RUNS, progress) : []
if (lists.length > 0) say(`\n${listTable(lists, LISTED_RUNS)}`)

if (built && !flags.json) {
  if (wanted("following and waiting for runs")) say(`\n${outputOf("follow.mjs")}`)
  if (wanted("a run of 10,000 turns")) say(`\n${outputOf("long-run.mjs")}`)
}

const failures = Object.entries(results).flatMap(([name, { failures }]) => failures.map((text) => `${name}, ${text}`))
for (const failure of failures) console.error(`\nFAILED ${failure}`)
if (flags.json)
  console.log(
    JSON.stringify({ fileSystem, node: process.version, lines, imports, start, bundles, lists, results }, null, 2),
  )

const bad = [...lines, ...imports].filter((line) => line.verdict !== "met")
process.exitCode = flags.assert && (bad.length > 0 || failures.length > 0) ? 1 : 0

/** What a program of its own prints. */
function outputOf(script) {
  const { stdout } = spawnSync(process.execPath, [join(import.meta.dirname, script)], {
    encoding: "utf8",
    env: { ...process.env, BENCH_DIST: dist },
    stdio: ["ignore", "pipe", "inherit"],
  })
  return stdout.trimEnd()
}

async function measureAll(names) {
  const all = {}
  if (names.size === 0) return all
  const server = await startServer()
  for (const name of names) {
    all[name] = await measure(measurements[name], {
      server,
      root,
      available,
      reps: reps(measurements[name].reps ?? 5),
      progress: (text) => progress(`${name} ${text}`),
    })
  }
  progress("")
  server.close()
  return all
}

function reps(usual) {
  return flags.reps ? Number(flags.reps) : usual
}

async function imported() {
  const paths = ["index.js", "hosts/node/index.js"].filter((path) => wanted(`import ${path}`))
  const targets = paths.map((path) => join(dist, path))
  if (targets.length === 0) return []
  if (!built) return paths.map((path) => ({ label: `import ${path}`, goal: importGoalMs, verdict: "not run" }))
  const urls = targets.map((target) => pathToFileURL(target).href)
  const samples = await measureImport(urls, { reps: reps(9), progress })
  progress("")
  return urls.map((url, index) => {
    const of = (name) => median(samples[url].map((sample) => sample[name]))
    const [bareMs, cpuMs] = [of("bareMs"), of("cpuMs")]
    const verdict = cpuMs <= importGoalMs ? "met" : "MISS"
    return { label: `import ${paths[index]}`, bareMs, cpuMs, goal: importGoalMs, verdict }
  })
}

function importTable(found) {
  const head = ["import, fresh process", "bare node", "CPU on top", "goal", ""]
  const body = found.map(({ label, bareMs, cpuMs, goal, verdict }) => [
    label,
    figure(bareMs, "ms"),
    figure(cpuMs, "ms"),
    `≤ ${goal} ms`,
    verdict,
  ])
  return layOut([head, ...body])
}

function fileSystemType(path) {
  const names = {
    61267: "ext4",
    16914836: "tmpfs",
    2435016766: "btrfs",
    1481003842: "xfs",
    2035054128: "overlay",
    26: "apfs",
  }
  const { type } = statfsSync(path)
  return names[type] ?? `type 0x${type.toString(16)}`
}

/** Shows the current activity on one terminal line that is cleared again. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
