import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { markPure } from "./build/mark-pure.mjs"

/**
 * tsc checks and writes its modules to build, which mirrors src, and their types to dist. Then the entries of the package and its program are bundled
 * into dist, once for every platform. Importing costs by the number of files and by their size: what `longhaul` loads is one
 * file, and what `longhaul/node` loads beside it are two. Everything else is loaded when it is needed. Types that nothing reaches are deleted.
 */
const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8"))
const leaves = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(leaves))
const paths = [...leaves(exports), ...leaves(bin)].map((path) => path.replace(/^(\.\/)?dist\//, ""))
const entries = [...new Set(paths.filter((path) => path.endsWith(".js")))]
const types = paths.filter((path) => path.endsWith(".d.ts"))
const programs = leaves(bin).map((path) => path.replace(/^(\.\/)?dist\//, ""))

for (const folder of ["dist", "build"]) rmSync(folder, { recursive: true, force: true })
const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
})
if (tsc.status !== 0) process.exit(1)

const onNode = [...loadedBy(["hosts/node/index.js", "hosts/node/tools.js"])]
/** What is loaded together. A module is in the first chunk that holds it, and in none of them if it is loaded later. */
const chunks = [
  // Functions that are imported alone: these import nothing later.
  { name: "tool", modules: loadedBy(["tools/kernel/define-tool.js"]) },
  { name: "webhooks", modules: loadedBy(["webhooks/index.js"]) },
  // What the program loads before it knows the command.
  { name: "start", modules: loadedBy(["cli/program.js"]) },
  { name: "runtime", modules: loadedBy(["index.js"]) },
  { name: "library", modules: new Set(onNode.filter((module) => !module.startsWith("hosts/"))) },
  { name: "node", modules: new Set(onNode) },
]
const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry.replace(/\.js$/, ""), `build/${entry}`])),
  // What is needed at once becomes part of the bundle: a package is loaded when it is needed.
  external: (id) => /^[a-z@]/.test(id) && !id.startsWith("@noble/hashes/"),
  platform: "neutral",
  // As package.json says. The modules of the program act when they are loaded.
  treeshake: { moduleSideEffects: (id) => id.includes("/build/cli/") },
  plugins: [
    { name: "mark-pure", transform: (code, id) => (isLibrary(id) ? { code: markPure(code), map: null } : null) },
    { name: "escape-wide", renderChunk: escapeWide },
  ],
  onLog(level, log) {
    // Some modules are loaded at once by one entry and later by another.
    if (log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") console[level === "warn" ? "warn" : "info"](log.message)
  },
})
await bundle.write({
  dir: "dist",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  comments: { annotation: true, jsdoc: false, legal: true },
  minifyInternalExports: false,
  codeSplitting: { groups: chunks.map(groupOf) },
})
await bundle.close()

for (const program of programs) chmodSync(`dist/${program}`, 0o755)
removeTypesBut(reachedFrom(types, "dist", /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g))

/** One character beyond Latin-1 makes V8 store a whole file with two bytes per character. */
function escapeWide(code) {
  return code.replace(/[^\0-\xff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

function groupOf({ name, modules }, index) {
  const holds = (id) => isLibrary(id) && modules.has(relative("build", id))
  return { name, test: holds, priority: chunks.length - index }
}

function isLibrary(id) {
  return id.startsWith(resolve("build")) && !id.includes("/build/cli/")
}

function loadedBy(modules) {
  return reachedFrom(modules, "build", /^(?:import|export)\b[^;"']*?from\s*"(\.{1,2}\/[^"]+)"/gm)
}

/** All files of a folder that are reached from these through imports that the pattern finds. */
function reachedFrom(files, folder, pattern) {
  const reached = new Set()
  const waiting = [...files]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    for (const [, specifier] of readFileSync(join(folder, file), "utf8").matchAll(pattern)) {
      const path = join(dirname(file), file.endsWith(".d.ts") ? specifier.replace(/\.[jt]s$/, ".d.ts") : specifier)
      if (existsSync(join(folder, path))) waiting.push(path)
    }
  }
  return reached
}

function removeTypesBut(kept) {
  for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
    const path = join(relative("dist", entry.parentPath), entry.name)
    if (path.endsWith(".d.ts") && !kept.has(path)) rmSync(join("dist", path))
  }
  for (const folder of foldersBottomUp("dist"))
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
}

function foldersBottomUp(folder) {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...folders.flatMap(({ name }) => foldersBottomUp(join(folder, name))), folder]
}
