import { spawnSync } from "node:child_process"
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"

/**
 * tsc checks and writes dist, which mirrors src. Then the entries are bundled in place. What importing costs is the number
 * of files, not their size: so all portable entries become one file, and all of Node's another, of which each gives out its
 * own names. The command line, whose commands load one by one, is bundled for itself.
 */
const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8"))
const entries = Object.values(exports)
  .flatMap((target) => [target.default, target.node?.default])
  .flatMap((path) => path?.replace("./dist/", "") ?? [])
/** By the one file that each becomes part of. */
const groups = {
  "core.js": entries.filter((entry) => !entry.startsWith("hosts/")),
  "node.js": entries.filter((entry) => entry.startsWith("hosts/node/")),
}
const programs = Object.values(bin).map((path) => path.replace(/^(\.\/)?dist\//, ""))

rmSync("dist", { recursive: true, force: true })
const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
})
if (tsc.status !== 0) process.exit(1)

const shared = new Map()
for (const [file, members] of Object.entries(groups)) {
  shared.set(file, await namesOf(members))
  const lines = shared.get(file).map(({ entry, names }) => reexport(names, `./${entry}`, "", entry))
  writeFileSync(`dist/${file}`, lines.join(""))
}
// First: it must see the modules as tsc wrote them.
await bundle(programs, "chunks/cli-[name]-[hash]")
await bundle([...shared.keys()], "chunks/[name]-[hash]")
for (const [file, members] of shared) {
  for (const { entry, names } of members) {
    const path = relative(dirname(entry), file)
    writeFileSync(`dist/${entry}`, reexport(names, path.startsWith(".") ? path : `./${path}`, entry, ""))
  }
}
// One character beyond Latin-1 makes V8 hold and read all of a file in two bytes a character. Only patterns can bring one in.
for (const name of readdirSync("dist/chunks").filter((each) => !each.startsWith("cli-"))) {
  const wide = /[^\0-\xff]/.exec(readFileSync(`dist/chunks/${name}`, "utf8"))
  if (wide) throw new Error(`dist/chunks/${name} holds ${wide[0]}: write it as an escape in the pattern it stands in.`)
}
for (const program of programs) chmodSync(`dist/${program}`, 0o755)

function bundle(entryPoints, chunkNames) {
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
    logLevel: "warning",
  })
}

/** What each entry gives out when it runs; types are nobody's business here. */
function namesOf(list) {
  return Promise.all(
    list.map(async (entry) => {
      const module = await import(pathToFileURL(`dist/${entry}`).href)
      return { entry, names: Object.keys(module) }
    }),
  )
}

/** In the one file every name carries its entry, since two entries may use the same. */
function reexport(names, from, fromEntry, asEntry) {
  const list = names.map((name) => `${marked(name, fromEntry)} as ${marked(name, asEntry)}`)
  return list.length === 0 ? "" : `export { ${list.join(", ")} } from ${JSON.stringify(from)}\n`
}

function marked(name, entry) {
  return entry === "" ? name : `${name}$${entry.replace(/\W/g, "_")}`
}
