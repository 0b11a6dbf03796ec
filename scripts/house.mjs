// The rules of the house that no linter knows: the import graph is really read, files, folders and functions stay small,
// casts have reasons, the core is portable. Prints what it measured.
// Usage: node scripts/house.mjs [root of a checkout]
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { namesWith, unusedWords } from "./house/glossary.mjs"
import { readSource } from "./house/read-source.mjs"

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)))
const longest = { "src/backends/native/loop.ts": 250, "src/run/session/drive.ts": 250 }
const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 80
const MAX_FOLDER_FILES = 30
/** The life of a run, in four rooms: their folders import each other in one direction only. */
const ROOMS_OF_A_RUN = /^src\/(settings|runs|run|runtime)(\/|$)/
const problems = []

const { summary, modules } = cruise()
const cycles = summary.violations.filter(({ rule }) => rule.name === "no-cycles").length
const cruised = modules.filter(({ source }) => source.startsWith("src/")).length
console.log(`modules: ${cruised}, import cycles: ${cycles}`)
// With a TypeScript version that it cannot parse, dependency-cruiser finds no modules and reports success.
if (cruised === 0) problems.push("dependency-cruiser read no module of src/: is @swc/core installed?")
for (const { rule, from, to } of summary.violations.filter(({ rule }) => rule.severity === "error")) {
  problems.push(`${rule.name}: ${from} → ${to}`)
}

const paths = listFiles("src").filter((path) => path.endsWith(".ts"))
const isTest = (path) => /\.test(-d)?\.ts$/.test(path)
const files = paths
  .filter((path) => !isTest(path))
  .map((path) => readSource(path, readFileSync(join(root, path), "utf8")))
const functions = files.flatMap((file) => file.functions)
const casts = files.flatMap((file) => file.casts)

const sizes = files.map(({ lines }) => lines).toSorted((left, right) => left - right)
const [median, p95] = [0.5, 0.95].map((part) => sizes[Math.floor((sizes.length - 1) * part)])
console.log(`files: ${files.length} shipped, lines: median ${median}, p95 ${p95}, largest ${sizes.at(-1)}`)
printTop("largest files:", files, 5, ({ path, lines }) => [lines, path])
printTop("longest functions:", functions, 10, ({ path, line, name, lines }) => [lines, `${name} (${path}:${line})`])
const shipped = filesByFolder(files.map(({ path }) => path))
printTop("folders with the most shipped files:", [...shipped], 5, ([folder, count]) => [count, folder])
const tested = filesByFolder(paths.filter(isTest))
printTop("folders with the most tests:", [...tested], 5, ([folder, count]) => [count, folder])
console.log(`functions: ${functions.length}, casts: ${casts.length}`)
const total = (key) => files.reduce((sum, file) => sum + file[key], 0)
console.log(`lines: ${total("lines")}, imports per file: ${(total("imports") / files.length).toFixed(2)}`)
console.log(`conditional spreads: ${total("conditionalSpreads")}, functions named …Of: ${namedOf(functions).length}`)
const mutual = mutualFolders(modules)
const inRooms = mutual.filter((pair) => pair.every((folder) => ROOMS_OF_A_RUN.test(folder)))
console.log(`folders that import each other: ${mutual.length}, of the rooms of a run: ${inRooms.length}`)

for (const { path, lines, text } of files) {
  const limit = longest[path] ?? MAX_FILE_LINES
  if (lines > limit) problems.push(`${path} has ${lines} lines, more than ${limit}`)
  if (!/^src\/(hosts\/node|cli)\//.test(path)) {
    for (const name of nodeImports(text)) problems.push(`${path} imports ${name}: only hosts/node and cli may`)
  }
}
for (const { path, line, name, lines } of functions) {
  if (lines > MAX_FUNCTION_LINES)
    problems.push(`${path}:${line} ${name} has ${lines} lines, more than ${MAX_FUNCTION_LINES}`)
}
for (const [folder, count] of shipped) {
  if (count > MAX_FOLDER_FILES) problems.push(`${folder} has ${count} shipped files, more than ${MAX_FOLDER_FILES}`)
}
for (const { path, line, text, isExplained } of casts) {
  if (!isExplained) problems.push(`${path}:${line} a cast gives no reason: ${text}`)
}

const words = unusedWords(readFileSync(join(root, "ARCHITECTURE.md"), "utf8"))
if (words.length === 0) problems.push("ARCHITECTURE.md has no glossary with words that the code does not use")
for (const { path, name, word } of files.flatMap((file) => namesWith(words, file))) {
  problems.push(`${path} has the name ${name}: the glossary of ARCHITECTURE.md has another word for ${word}`)
}
for (const [one, other] of inRooms) problems.push(`${one} and ${other} import each other`)

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

function listFiles(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? listFiles(path) : [path]
  })
}

function filesByFolder(paths) {
  const counts = new Map()
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return counts
}

/** Pairs of folders with imports in both directions. */
function mutualFolders(modules) {
  const shipped = modules.filter(({ source }) => source.startsWith("src/") && !isTest(source))
  const imports = new Set(
    shipped.flatMap(({ source, dependencies }) =>
      dependencies
        .filter(({ resolved }) => resolved.startsWith("src/"))
        .map(({ resolved }) => `${dirname(source)} ${dirname(resolved)}`),
    ),
  )
  return Array.from(imports, (each) => each.split(" ")).filter(
    ([from, to]) => from < to && imports.has(`${to} ${from}`),
  )
}

function namedOf(functions) {
  const named = functions.filter(({ name }) => /^#?[a-z]\w*Of$/.test(name))
  return [...new Set(named.map(({ path, name }) => `${path} ${name}`))]
}

function printTop(title, items, count, toRow) {
  console.log(title)
  const rows = items.map(toRow).toSorted(([left], [right]) => right - left)
  for (const [number, text] of rows.slice(0, count)) console.log(`  ${String(number).padStart(4)} ${text}`)
}

function nodeImports(text) {
  const named = text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["']([^"'\n]+)["']/g)
  return Array.from(named, ([, name]) => name).filter(
    (name) => name.startsWith("node:") || builtinModules.includes(name),
  )
}
