// Project rules that no linter covers: the import graph is really read, files stay small, the core portable. Usage:
// node scripts/house.mjs [root of a checkout]
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)))
const longest = { "src/backends/native/loop.ts": 250, "src/runtime/drive.ts": 250 }
const LONGEST_FILE = 400
const problems = []

const { summary, modules } = cruise()
const cycles = summary.violations.filter(({ rule }) => rule.name === "no-cycles").length
const cruised = modules.filter(({ source }) => source.startsWith("src/")).length
console.log(`modules: ${cruised}, import cycles: ${cycles}`)
// With a TypeScript version that it cannot parse, dependency-cruiser finds no modules and reports success.
if (cruised === 0) problems.push("dependency-cruiser read no module of src/: is @swc/core installed?")
if (summary.error > 0) problems.push(`dependency-cruiser found ${summary.error} violations: npx depcruise src`)

const files = sources("src").map((path) => {
  const text = readFileSync(join(root, path), "utf8")
  return { path, text, lines: text.split("\n").length - 1 }
})
const bySize = files.toSorted((left, right) => right.lines - left.lines)
console.log("largest files:")
for (const { path, lines } of bySize.slice(0, 5)) console.log(`  ${String(lines).padStart(4)} ${path}`)
for (const { path, lines, text } of files) {
  const limit = longest[path] ?? LONGEST_FILE
  if (lines > limit) problems.push(`${path} has ${lines} lines, more than ${limit}`)
  if (!/^src\/(hosts\/node|cli)\//.test(path)) {
    for (const name of nodeImports(text)) problems.push(`${path} imports ${name}: only hosts/node and cli may`)
  }
}

for (const problem of problems) console.error(`house: ${problem}`)
process.exitCode = problems.length > 0 ? 1 : 0

function cruise() {
  const program = "node_modules/dependency-cruiser/bin/dependency-cruise.mjs"
  const arguments_ = [program, "--config", ".dependency-cruiser.cjs", "--output-type", "json", "src"]
  const { stdout, stderr } = spawnSync(process.execPath, arguments_, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  })
  if (stdout === "") throw new Error(`dependency-cruiser said nothing: ${stderr}`)
  return JSON.parse(stdout)
}

/** Every shipped file, without tests. */
function sources(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return sources(path)
    return /\.ts$/.test(path) && !/\.test(-d)?\.ts$/.test(path) ? [path] : []
  })
}

function nodeImports(text) {
  const named = text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["']([^"'\n]+)["']/g)
  return Array.from(named, ([, name]) => name).filter(
    (name) => name.startsWith("node:") || builtinModules.includes(name),
  )
}
