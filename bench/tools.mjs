// Measures the tools: Grep through createAgentTools compared with plain ripgrep, and the dispatch of a tool that does
// nothing. Usage: npm run build && node bench/tools.mjs [--reps n] [--assert]
import { spawn } from "node:child_process"
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { rgPath } from "@vscode/ripgrep"

const { values } = parseArgs({ options: { reps: { type: "string", default: "15" }, assert: { type: "boolean" } } })
const reps = Number(values.reps)
const grepGoal = 1.15
const dispatchGoal = 30
const ticksPerSecond = 100

const folder = mkdtempSync(join(tmpdir(), "longhaul-bench-tools-"))
process.env.LONGHAUL_STORE = join(folder, "state")
try {
  const { createAgentTools, defineTool } = await import("../dist/hosts/node/index.js")
  const root = join(folder, "tree")
  plant(root)
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    effect: "none",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    run: () => "done",
  })
  const tools = createAgentTools({ root, ripgrepPath: rgPath, tools: [nothing] })
  const misses = [...(await benchGrep(tools, root)), ...(await benchDispatch(tools))]
  await tools.close()
  if (values.assert && misses.length > 0) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchGrep(tools, root) {
  const questions = [
    ["a word in 20 of 20,000 files", "needle"],
    ["a word in 400 files, of which 200 are printed", "haystack"],
    ["a pattern in nearly all files, of which few are printed", "func\\w+ .*gamma"],
  ]
  const misses = []
  for (const [name, pattern] of questions) {
    const ask = async () => {
      const { isError, text } = await tools.callTool("Grep", { pattern })
      if (isError || !/^\S+:\d+:/.test(text)) throw new Error(`Grep found nothing: ${text.slice(0, 200)}`)
    }
    const plain = () => runPlain(pattern, root)
    for (let warm = 0; warm < 3; warm++) await ask()
    const samples = { ours: [], plain: [] }
    for (let rep = 0; rep < reps; rep++) {
      samples.plain.push(await cpuOf(plain, false))
      samples.ours.push(await cpuOf(ask, true))
    }
    const ratio = sum(samples.ours) / sum(samples.plain)
    const figures = `${(sum(samples.ours) / reps).toFixed(1)} ms ÷ ${(sum(samples.plain) / reps).toFixed(1)} ms`
    if (!report(`Grep ÷ rg, ${name}`, ratio.toFixed(2), grepGoal, ratio <= grepGoal, figures)) misses.push(name)
  }
  return misses
}

async function benchDispatch(tools) {
  const calls = 20_000
  const run = async () => {
    for (let call = 0; call < calls; call++) await tools.callTool("nothing", { path: "a" })
  }
  await run()
  const samples = []
  for (let rep = 0; rep < 5; rep++) samples.push(((await cpuOf(run, true)) * 1000) / calls)
  const median = samples.toSorted((left, right) => left - right)[2]
  const isMet = report(
    "dispatch of a trivial tool, µs",
    median.toFixed(1),
    dispatchGoal,
    median <= dispatchGoal,
    "median of 5",
  )
  return isMet ? [] : ["dispatch"]
}

/** The ripgrep flags of Grep, with the lines printed. To a file: a pipe would have to be read by us. */
function runPlain(pattern, root) {
  const flags = "--no-config --line-number --hidden --no-require-git --no-ignore-global --no-ignore-exclude".split(" ")
  const more = ["--no-ignore-parent", "--max-filesize=5242880", "--glob=!.git/", "--glob=!node_modules/"]
  const output = openSync(join(folder, "plain.txt"), "w")
  return new Promise((resolve, reject) => {
    const child = spawn(rgPath, [...flags, ...more, "-e", pattern, "--", "."], {
      cwd: root,
      stdio: ["ignore", output, "inherit"],
    })
    child.on("error", reject)
    child.on("exit", (code) => {
      closeSync(output)
      if (code === 0) resolve()
      else reject(new Error(`rg ended with ${code}`))
    })
  })
}

/** CPU milliseconds of the children that ended in between and, on request, of this process. */
async function cpuOf(work, isOurs) {
  const children = childTicks()
  const own = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(own)
  return ((childTicks() - children) * 1000) / ticksPerSecond + (isOurs ? (user + system) / 1000 : 0)
}

/** CPU of the awaited children, in clock ticks. */
function childTicks() {
  const stat = readFileSync("/proc/self/stat", "latin1")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return Number(fields[13]) + Number(fields[14])
}

function report(name, figure, goal, isMet, detail) {
  console.log(`${isMet ? "ok  " : "MISS"} ${name.padEnd(70)} ${figure.padStart(6)}  (goal ${goal}; ${detail})`)
  return isMet
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0)
}

/** 20,000 files in 800 folders, about 2 KB each. */
function plant(root) {
  let state = 7
  const next = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return (state >>> 8) % below
  }
  const words = "alpha beta gamma delta function const return import export class value index number error".split(" ")
  const line = () => Array.from({ length: 8 }, () => words[next(words.length)]).join(" ")
  for (let index = 0; index < 20_000; index++) {
    const at = join(root, `d${index % 40}`, `e${Math.floor(index / 40) % 20}`)
    mkdirSync(at, { recursive: true })
    const lines = Array.from({ length: 20 + next(60) }, line)
    if (index % 1000 === 7) lines.push("a needle")
    if (index % 50 === 9) lines.push("in the haystack")
    writeFileSync(join(at, `f${index}.${["ts", "js", "md"][next(3)]}`), `${lines.join("\n")}\n`)
  }
  writeFileSync(join(root, ".gitignore"), "*.log\n/d39/\n!keep.log\n")
}
