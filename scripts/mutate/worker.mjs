// Runs named tests in a copy of the repository, for scripts/mutate.mjs. One vitest serves all runs: what did not change stays
// transformed. Started with the copy as its argument; each message is answered by one.
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { createVitest } from "vitest/node"
import { sourcesIn } from "./sources.mjs"

const [copy] = process.argv.slice(2)
const TEST_TIMEOUT_MS = 30_000
const silent = { onInit() {} }
const vitest = await createVitest(
  "test",
  {
    root: copy,
    watch: false,
    reporters: [silent],
    testTimeout: TEST_TIMEOUT_MS,
    maxWorkers: 1,
    silent: true,
  },
  { root: copy, configFile: join(copy, "vitest.config.ts"), cacheDir: join(copy, ".vite"), logLevel: "silent" },
)
await vitest.standalone()
// Its files do not share modules: a mutation is in effect for one run only.
const project = vitest.projects.find(({ name }) => name === "system")

process.on("message", async ({ edits, tests, isProgram }) => {
  try {
    process.send(
      await underMutation(edits, async () => {
        if (isProgram) await bundleProgram()
        return runTests(tests)
      }),
    )
  } catch (error) {
    process.send({ error: error instanceof Error ? error.message : String(error) })
  }
})
process.send({ ready: true })

async function underMutation(edits, run) {
  const originals = new Map()
  try {
    for (const { file, find, replace } of edits) {
      const path = findFile(file, find)
      const source = readFileSync(path, "utf8")
      if (!originals.has(path)) originals.set(path, source)
      write(
        path,
        source.replace(find, () => replace),
      )
    }
    return await run()
  } finally {
    for (const [path, source] of originals) write(path, source)
  }
}

function write(path, text) {
  writeFileSync(path, text)
  vitest.invalidateFile(path)
}

/** The file that a mutation names, or the one below the folder that it names. */
function findFile(place, find) {
  const files = statSync(join(copy, place)).isDirectory() ? sourcesIn(copy, place) : [place]
  const found = files.filter((file) => readFileSync(join(copy, file), "utf8").includes(find))
  const [file] = found
  const isOnce = found.length === 1 && readFileSync(join(copy, file), "utf8").split(find).length === 2
  if (!isOnce) throw new Error(`${place} does not hold exactly once: ${find.trim().slice(0, 100)}`)
  return join(copy, file)
}

/** The command line as tests start it. Like scripts/build.mjs, without types. */
function bundleProgram() {
  return build({
    absWorkingDir: copy,
    entryPoints: ["src/cli/main.ts"],
    outdir: "dist",
    outbase: "src",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "silent",
  })
}

/** `tests`: files, each with the names of which its tests must hold one. `unrunnable`: why files could not be run at all. */
async function runTests(tests) {
  const specifications = tests.map(({ file, names }) =>
    project.createSpecification(join(copy, file), { testNamePattern: new RegExp(names.map(escaped).join("|")) }),
  )
  vitest.state.clearErrors()
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const failed = unhandledErrors.map(() => "an error that no test caught")
  const results = { passed: [], failed, failedFiles: [], unrunnable: [] }
  // Those of earlier runs are among them.
  const wanted = new Set(specifications.map(({ moduleId }) => moduleId))
  for (const module of testModules.filter(({ moduleId }) => wanted.has(moduleId))) {
    for (const { message } of module.errors()) {
      results.unrunnable.push(`${module.relativeModuleId} cannot be run: ${message}`)
    }
    for (const test of module.children.allTests()) results[test.result().state]?.push(nameOf(test))
    if (!module.ok()) results.failedFiles.push(module.relativeModuleId)
  }
  return results
}

/** As patterns see it: with the names of its groups in front. */
function nameOf(test) {
  const names = [test.name]
  for (let group = test.parent; group.type === "suite"; group = group.parent) names.unshift(group.name)
  return names.join(" ")
}

function escaped(name) {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
