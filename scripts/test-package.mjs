// Packs the package, installs it in an empty project and uses it there as a user would.
import { execFileSync, spawnSync } from "node:child_process"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build, transformSync } from "esbuild"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

const repository = fileURLToPath(new URL("..", import.meta.url))
const MAX_PACKAGES = 36
/** The MCP server and its schema library are half of it. */
const MAX_MEGABYTES = 32
const MAX_FILES = 400
const MAX_PACKED_MEGABYTES = 2
const IMPORT_GOAL_MS = 40
const MAX_BUNDLED = 12 * 1024
/** For a platform that esbuild does not know. */
const likeWrangler = { mainFields: ["module", "main"], conditions: ["workerd", "worker", "browser"] }

const scratch = mkdtempSync(join(tmpdir(), "longhaul-package-"))
const project = join(scratch, "project")
const installed = join(project, "node_modules/longhaul")
const problems = []
let manifest

try {
  const tarball = pack()
  install(tarball)
  manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
  const subpaths = Object.keys(manifest.exports).filter((path) => path !== "./package.json")
  const portable = subpaths.filter((path) => path !== "./node" && path !== "./backends")

  checkTree()
  checkImports(subpaths)
  await checkPortable(portable)
  await checkManifest()
  checkTypes(tarball)
  checkConsumers(subpaths, portable)
  checkReached()
  await checkBundles()
  measureImports([".", "./node"])
  checkProgram()
  checkReadme()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
for (const problem of problems) console.error(`package: ${problem}`)
console.log(problems.length === 0 ? "package: ok" : `package: ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0

function pack() {
  run("npm", ["pack", "--silent", "--pack-destination", scratch], repository)
  const name = readdirSync(scratch).find((file) => file.endsWith(".tgz"))
  const { size } = statSync(join(scratch, name))
  console.log(`packed: ${name}, ${kilobytes(size)} KB`)
  if (size > MAX_PACKED_MEGABYTES * 1024 ** 2) problems.push(`packed, it is larger than ${MAX_PACKED_MEGABYTES} MB`)
  return join(scratch, name)
}

/** As a user would, with the packages in the cache. */
function install(tarball) {
  mkdirSync(project)
  write("package.json", JSON.stringify({ name: "consumer", private: true, type: "module" }))
  run("npm", ["install", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline", "--silent", tarball], project)
}

function checkTree() {
  const root = join(project, "node_modules")
  const manifests = walk(root).filter((path) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
  for (const path of manifests) {
    const { name, scripts = {} } = JSON.parse(readFileSync(path, "utf8"))
    const hook = ["preinstall", "install", "postinstall", "prepare"].find((script) => script in scripts)
    // A package from the registry runs no `prepare`, but ours must not even look like it did.
    if (hook && (hook !== "prepare" || name === "longhaul")) problems.push(`${name} has a script "${hook}"`)
  }
  if (walk(root).some((path) => /\.node$|binding\.gyp$/.test(path))) problems.push("native code in the tree")
  const files = walk(installed).length
  console.log(`files of the package: ${files}`)
  if (files > MAX_FILES) problems.push(`${files} files, more than ${MAX_FILES}`)
  const megabytes = walk(root).reduce((sum, path) => sum + statSync(path).size, 0) / 1024 ** 2
  console.log(`default install: ${manifests.length} packages, ${megabytes.toFixed(2)} MB, no install scripts allowed`)
  if (manifests.length > MAX_PACKAGES) problems.push(`${manifests.length} packages, more than ${MAX_PACKAGES}`)
  if (megabytes > MAX_MEGABYTES) problems.push(`${megabytes.toFixed(1)} MB, more than ${MAX_MEGABYTES}`)
  const stray = walk(installed).filter((path) => /\.test|\.tsx?$|__fixtures__/.test(path) && !path.endsWith(".d.ts"))
  if (stray.length > 0) problems.push(`packed by mistake: ${stray.join(", ")}`)
}

function checkImports(subpaths) {
  for (const path of [...subpaths, "./package.json"]) {
    const what = join("longhaul", path)
    const how = path.endsWith(".json") ? ', { with: { type: "json" } }' : ""
    const script = `const all = await import(${JSON.stringify(what)}${how}); console.log(Object.keys(all).join(" "))`
    const { status, stdout, stderr } = node(["--no-warnings", "--input-type=module", "-e", script])
    if (status !== 0 || stdout.trim() === "") problems.push(`import "${what}" failed: ${stderr}`)
    else if (!path.endsWith(".json")) console.log(`import "${what}": ${stdout.trim()}`)
  }
}

/** A bundler for a platform without Node follows every import, including lazy ones, and fails on missing modules. */
async function checkPortable(portable) {
  const stdin = portable.map((path) => `import ${JSON.stringify(join("longhaul", path))}`).join("\n")
  try {
    const { metafile } = await build({
      stdin: { contents: stdin, resolveDir: project },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
      ...likeWrangler,
      treeShaking: false,
      ignoreAnnotations: true,
      logLevel: "silent",
    })
    const inputs = Object.entries(metafile.inputs)
    // A missing optional peer is loaded, and fails, only when it is needed.
    const optional = Object.keys(manifest.peerDependenciesMeta ?? {})
    const isMissed = ({ path, kind }) => kind === "dynamic-import" && optional.includes(path)
    const outside = inputs.flatMap(([file, { imports }]) =>
      imports
        .filter((each) => (each.external && !isMissed(each)) || each.path.startsWith("node:"))
        .map((each) => `${file}: ${each.path}`),
    )
    console.log(`portable entries: ${portable.length}, reaching ${inputs.length - 1} files, ${outside.length} of Node`)
    if (inputs.length < 20) problems.push(`the portable entries reach only ${inputs.length} files`)
    for (const each of outside) problems.push(`a portable entry reaches ${each}`)
  } catch (error) {
    problems.push(`the portable entries do not bundle: ${error.message}`)
  }
}

async function checkManifest() {
  const { messages } = await publint({ pkgDir: installed, pack: false, strict: true })
  for (const message of messages) problems.push(`publint: ${formatMessage(message, manifest)}`)
  console.log(`publint: ${messages.length} messages`)
}

function checkTypes(tarball) {
  const options = ["--profile", "esm-only", "--no-definitely-typed", "--no-emoji", "--no-color", "--format", "ascii"]
  const { status, stdout, stderr } = spawnSync("npx", ["--no-install", "attw", tarball, ...options], {
    cwd: repository,
    encoding: "utf8",
  })
  console.log(`attw: ${status === 0 ? "no problems" : "problems"}`)
  if (status !== 0) problems.push(`attw: ${stdout}${stderr}`)
}

function checkConsumers(subpaths, portable) {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true }
  const shared = { ...strict, target: "ES2023", skipLibCheck: false, module: "NodeNext" }
  const everything = (paths) =>
    paths.map((path, at) => `import * as _${at} from ${JSON.stringify(join("longhaul", path))}\nvoid _${at}`).join("\n")
  cpSync(join(repository, "test/package/portable-consumer.ts"), join(project, "portable-consumer.ts"))
  write("portable.ts", `${everything(portable)}\n`)
  write("node.ts", `${everything(subpaths)}\n`)
  mkdirSync(join(project, "types"))
  symlinkSync(join(repository, "node_modules/@types/node"), join(project, "types/node"))
  compile("portable", { ...shared, lib: ["ES2023", "ESNext.Disposable", "WebWorker"], types: [] }, [
    "portable.ts",
    "portable-consumer.ts",
  ])
  const forNode = { ...shared, lib: ["ES2023"], types: ["node"], typeRoots: ["types"] }
  compile("node", forNode, ["node.ts"])
  write("bundled.ts", 'import { createAgentTools } from "longhaul/tools"\nvoid createAgentTools({ root: "." })\n')
  compile("bundler", { ...forNode, module: "ESNext", moduleResolution: "bundler" }, ["node.ts", "bundled.ts"])
}

function compile(name, compilerOptions, files) {
  write(`tsconfig.${name}.json`, JSON.stringify({ compilerOptions, files }))
  const program = join(repository, "node_modules/typescript/bin/tsc")
  const { status, stdout } = node([program, "-p", `tsconfig.${name}.json`])
  console.log(`types for a ${name} consumer: ${status === 0 ? "compile" : "do not compile"}`)
  if (status !== 0) problems.push(`the ${name} consumer does not compile:\n${stdout}`)
}

function measureImports(paths) {
  const child = join(repository, "bench/import-child.mjs")
  for (const path of paths) {
    const url = pathToFileURL(join(installed, manifest.exports[path].node ?? manifest.exports[path].default)).href
    const samples = Array.from({ length: 9 }, () => JSON.parse(node([child, url]).stdout))
    const middle = (name) => samples.map((sample) => sample[name]).toSorted((a, b) => a - b)[4]
    const figures = `${middle("cpuMs").toFixed(1)} ms CPU on top of ${middle("bareMs").toFixed(1)} ms for bare node`
    console.log(`import ${join("longhaul", path)}: ${figures} (goal ${IMPORT_GOAL_MS} ms)`)
  }
}

/** Every file is an entry, its types, or imported by one: no unreachable file is shipped. */
function checkReached() {
  const targets = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(targets))
  const waiting = [...targets(manifest.exports), ...targets(manifest.bin)].map((path) => join(installed, path))
  const reached = new Set()
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    if (!/\.[jt]s$/.test(file)) continue
    for (const [, name] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g)) {
      waiting.push(join(file, "..", file.endsWith(".d.ts") ? name.replace(/\.[jt]s$/, ".d.ts") : name))
    }
  }
  const files = walk(join(installed, "dist")).filter((path) => !path.endsWith(".map"))
  const stray = files.filter((path) => !reached.has(path))
  console.log(`files in dist: ${files.length}, ${stray.length} that nothing reaches`)
  for (const path of stray) problems.push(`nothing reaches ${path.slice(installed.length + 1)}`)
}

/** Importing one function must not pull in the runtime, on any bundler platform. */
async function checkBundles() {
  for (const [name, path] of [
    ["verifyWebhook", "longhaul/webhooks"],
    ["defineTool", "longhaul"],
  ]) {
    for (const platform of ["node", "browser", "neutral"]) {
      const { outputFiles } = await build({
        stdin: { contents: `export { ${name} } from "${path}"`, resolveDir: project },
        bundle: true,
        minify: true,
        write: false,
        format: "esm",
        platform,
        ...(platform === "neutral" && likeWrangler),
        logLevel: "silent",
      })
      const size = outputFiles[0].contents.length
      console.log(`${name} alone, bundled for ${platform}: ${(size / 1024).toFixed(1)} KB`)
      if (size > MAX_BUNDLED) problems.push(`${name} alone bundles to ${size} bytes, more than ${MAX_BUNDLED}`)
    }
  }
}

/** The README's library example, extracted and run where only the package is installed. */
function checkReadme() {
  const readme = readFileSync(join(repository, "README.md"), "utf8")
  const [, code = "", output = ""] = /```ts run\n([\s\S]*?)```\s*```text output\n([\s\S]*?)```/.exec(readme) ?? []
  write("readme.mjs", transformSync(code, { loader: "ts" }).code)
  const { stdout, stderr } = node(["readme.mjs"])
  if (code === "" || stdout !== output) problems.push(`the README's example printed ${stdout}${stderr}`)
  else console.log("the README's library example: prints what it says")
}

function checkProgram() {
  const { status, stdout, stderr } = spawnSync("npx", ["--no-install", "longhaul", "--version"], {
    cwd: project,
    env: environment(),
    encoding: "utf8",
  })
  console.log(`npx longhaul --version: ${stdout.trim()}`)
  if (status !== 0 || !stdout.includes(manifest.version)) problems.push(`the program does not run: ${stdout}${stderr}`)
}

function node(arguments_) {
  return spawnSync(process.execPath, arguments_, { cwd: project, env: environment(), encoding: "utf8" })
}

function run(program, arguments_, cwd) {
  execFileSync(program, arguments_, { cwd, env: environment(), stdio: ["ignore", "ignore", "inherit"] })
}

/** Without the variables of an outer `npm run`, which would redirect an inner npm to this checkout. */
function environment() {
  const outer = /^npm_(package|lifecycle|config_(local_prefix|prefix|workspace))/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !outer.test(name)))
}

function write(name, text) {
  writeFileSync(join(project, name), text)
}

function walk(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== ".package-lock.json")
    .map((entry) => join(entry.parentPath, entry.name))
}

function kilobytes(bytes) {
  return (bytes / 1024).toFixed(0)
}
