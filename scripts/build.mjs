import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"

/**
 * tsc checks and writes dist, which mirrors src. The modules of the library are copied to dist/esm for bundlers (condition
 * `module`), which take only those that are used. Then the entries are bundled in place for Node: importing costs by the
 * number of files, not by their size, so all portable entries become one file, all of Node's another, and the extensions a
 * third, of which each gives out its own names. The command line, whose commands load one by one, is bundled for itself. What nothing reaches is
 * deleted.
 */
const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8"))
const targets = Object.values(exports).filter((target) => typeof target === "object")
const inDist = (path) => path?.replace("./dist/", "") ?? []
/** The bundles that Node loads, and the modules that bundlers load. */
const entries = targets.flatMap(({ node, default: other }) => node?.default ?? node ?? other).flatMap(inDist)
const modules = targets
  .flatMap(({ module, node, default: other }) => [module, node?.module, other])
  .flatMap((path) => (path?.includes("/esm/") ? [path.replace("./dist/esm/", "")] : []))
const types = targets.flatMap((target) => target.types).flatMap(inDist)
/** Grouped by the file that each becomes part of. */
const isExtension = (entry) => /^(extensions|hosts\/node\/knowledge)\//.test(entry)
const groups = {
  "core.js": entries.filter((entry) => !entry.startsWith("hosts/") && !isExtension(entry)),
  "node.js": entries.filter((entry) => entry.startsWith("hosts/node/") && !isExtension(entry)),
  // Most programs use none of them.
  "extensions.js": entries.filter(isExtension),
}
const programs = Object.values(bin).map((path) => path.replace(/^(\.\/)?dist\//, ""))

rmSync("dist", { recursive: true, force: true })
const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
})
if (tsc.status !== 0) process.exit(1)

for (const file of reachedFrom(modules)) {
  mkdirSync(dirname(`dist/esm/${file}`), { recursive: true })
  cpSync(`dist/${file}`, `dist/esm/${file}`)
}

const shared = new Map()
for (const [file, members] of Object.entries(groups)) {
  shared.set(file, await namesOf(members))
  const lines = shared.get(file).map(({ entry, names }) => reexport(names, `./${entry}`, "", entry))
  writeFileSync(`dist/${file}`, lines.join(""))
}
// First: it must see the modules as tsc wrote them.
await bundle(programs, "chunks/cli-[name]-[hash]", false)
await bundle([...shared.keys()], "chunks/[name]-[hash]", true)
for (const [file, members] of shared) {
  for (const { entry, names } of members) {
    const path = relative(dirname(entry), file)
    writeFileSync(`dist/${entry}`, reexport(names, path.startsWith(".") ? path : `./${path}`, entry, ""))
  }
}
// One character beyond Latin-1 makes V8 store a whole file with two bytes per character. Only regular expressions can
// contain one.
for (const name of readdirSync("dist/chunks").filter((each) => /^(?!cli-).*\.js$/.test(each))) {
  const wide = /[^\0-\xff]/.exec(readFileSync(`dist/chunks/${name}`, "utf8"))
  if (wide) throw new Error(`dist/chunks/${name} holds ${wide[0]}: write it as an escape in the pattern it stands in.`)
}
for (const program of programs) chmodSync(`dist/${program}`, 0o755)
removeAllBut(new Set([...reachedFrom([...entries, ...programs]), ...reachedFrom(types)]))

/** All files of dist reachable from these: through imports and lazy imports, or through types. */
function reachedFrom(files) {
  const reached = new Set()
  const waiting = [...files]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, specifier] of readFileSync(`dist/${file}`, "utf8").matchAll(
      /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g,
    )) {
      const path = join(dirname(file), file.endsWith(".d.ts") ? specifier.replace(/\.[jt]s$/, ".d.ts") : specifier)
      if (existsSync(`dist/${path}`)) waiting.push(path)
    }
  }
  return reached
}

function removeAllBut(kept) {
  for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
    const path = join(relative("dist", entry.parentPath), entry.name)
    const isKept = path.startsWith("esm/") || kept.has(path) || kept.has(path.replace(/\.map$/, ""))
    if (entry.isFile() && !isKept) rmSync(join("dist", path))
  }
  for (const folder of foldersBottomUp("dist"))
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
}

function foldersBottomUp(folder) {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...folders.flatMap(({ name }) => foldersBottomUp(join(folder, name))), folder]
}

function bundle(entryPoints, chunkNames, sourcemap) {
  return build({
    entryPoints: entryPoints.map((entry) => `dist/${entry}`),
    outdir: "dist",
    outbase: "dist",
    chunkNames,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    sourcemap,
    logLevel: "warning",
  })
}

/** The runtime exports of each entry; types do not matter here. */
function namesOf(list) {
  return Promise.all(
    list.map(async (entry) => {
      const module = await import(pathToFileURL(`dist/${entry}`).href)
      return { entry, names: Object.keys(module) }
    }),
  )
}

/** In the combined file every name carries its entry, since two entries may use the same name. */
function reexport(names, from, fromEntry, asEntry) {
  const list = names.map((name) => `${marked(name, fromEntry)} as ${marked(name, asEntry)}`)
  return list.length === 0 ? "" : `export { ${list.join(", ")} } from ${JSON.stringify(from)}\n`
}

function marked(name, entry) {
  return entry === "" ? name : `${name}$${entry.replace(/\W/g, "_")}`
}
