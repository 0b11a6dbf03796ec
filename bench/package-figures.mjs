import { basename, join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"
import { median } from "./measure.mjs"
import { runScript } from "./processes.mjs"

/** The minified size of one import in bytes, dropped from the bundle that is shipped. */
export async function bundleSizes(dist) {
  const imports = { verifyWebhook: "webhooks/index.js", defineTool: "index.js" }
  const options = {
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    packages: "external",
    write: false,
    logLevel: "error",
  }
  return Promise.all(
    Object.entries(imports).map(async ([name, from]) => {
      const contents = `export { ${name} } from ${JSON.stringify(join(dist, from))}`
      const { outputFiles } = await build({ stdin: { contents, resolveDir: dist }, ...options })
      const [{ contents: bytes }] = outputFiles
      return { label: `bundle of ${name}`, bytes: bytes.length, gzipped: gzipSync(bytes).length }
    }),
  )
}

/** What a worker loads first of a bundle with `createRuntime`, and what it loads when it is needed. */
export async function initialChunk(dist) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: `export { createRuntime } from ${JSON.stringify(join(dist, "index.js"))}`, resolveDir: dist },
    ...{
      bundle: true,
      minify: true,
      splitting: true,
      format: "esm",
      platform: "browser",
      write: false,
      metafile: true,
    },
    ...{ external: ["node:*"], outdir: "bundle", logLevel: "error" },
  })
  const files = new Map(Object.keys(metafile.outputs).map((name, index) => [name, outputFiles[index].contents]))
  const initial = new Set(
    Object.keys(metafile.outputs).filter((name) => metafile.outputs[name].entryPoint === "<stdin>"),
  )
  for (const name of initial)
    for (const { path, kind } of metafile.outputs[name].imports) if (kind === "import-statement") initial.add(path)
  const sized = (label, names) => {
    const contents = names.map((name) => files.get(name))
    const sum = (sizeOf) => contents.reduce((total, each) => total + sizeOf(each), 0)
    return { label, bytes: sum((each) => each.length), gzipped: sum((each) => gzipSync(each).length) }
  }
  const later = [...files.keys()].filter((name) => !initial.has(name) && files.get(name).length > 1_000)
  return [
    { ...sized("initial chunk of createRuntime", [...initial]), goal: 120_000 },
    ...later.map((name) => sized(`  on demand: ${basename(metafile.outputs[name].entryPoint ?? name)}`, [name])),
  ]
}

/** CPU of `longhaul --help` in a fresh process, on top of Node's own. */
export async function cliStart(dist, reps) {
  const samples = []
  for (let rep = 0; rep < reps; rep++) samples.push(await runScript("cli-child.mjs", join(dist, "cli/main.js"), 20_000))
  const of = (name) => median(samples.map((sample) => sample[name]))
  return { label: "start of the command line", bareMs: of("bareMs"), cpuMs: of("cpuMs") }
}
