import { spawnSync } from "node:child_process"
import { chmodSync, readFileSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

/**
 * tsc checks and writes dist, which mirrors src. Then the entries are bundled in place, sharing chunks: a fresh process
 * loads a handful of files instead of some seventy, which is most of what importing the package costs.
 */
const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { exports, bin } = JSON.parse(readFileSync("package.json", "utf8"))
const entries = [...Object.values(exports).flatMap((target) => target.default ?? []), ...Object.values(bin)]

rmSync("dist", { recursive: true, force: true })
const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit",
})
if (tsc.status !== 0) process.exit(1)

await build({
  entryPoints: entries,
  outdir: "dist",
  outbase: "dist",
  chunkNames: "chunks/[name]-[hash]",
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning",
})
for (const file of Object.values(bin)) chmodSync(file, 0o755)
