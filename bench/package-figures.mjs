import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"
import { median } from "./measure.mjs"
import { runScript } from "./processes.mjs"

/** The minified size of one import in bytes, from the modules that bundlers load, not from the bundle for Node. */
export async function bundleSizes(dist) {
  const imports = { verifyWebhook: "esm/webhooks/index.js", defineTool: "esm/index.js" }
  const options = { bundle: true, minify: true, format: "esm", platform: "neutral", packages: "external", write: false }
  return Promise.all(
    Object.entries(imports).map(async ([name, from]) => {
      const contents = `export { ${name} } from ${JSON.stringify(join(dist, from))}`
      const { outputFiles } = await build({ stdin: { contents, resolveDir: dist }, ...options })
      const [{ contents: bytes }] = outputFiles
      return { label: `bundle of ${name}`, bytes: bytes.length, gzipped: gzipSync(bytes).length }
    }),
  )
}

/** CPU of `longhaul --help` in a fresh process, on top of Node's own. */
export async function cliStart(dist, reps) {
  const samples = []
  for (let rep = 0; rep < reps; rep++) samples.push(await runScript("cli-child.mjs", join(dist, "cli/main.js"), 20_000))
  const of = (name) => median(samples.map((sample) => sample[name]))
  return { label: "start of the command line", bareMs: of("bareMs"), cpuMs: of("cpuMs") }
}
