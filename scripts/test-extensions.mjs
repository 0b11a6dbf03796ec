// Installs the servers and suites of others that test/extensions runs, beside the repository's own packages and only once.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../.extensions", import.meta.url))
const done = join(folder, "installed.json")
/** Exact versions: the tests name what these very versions do. `node`: the conformance suite needs Node 22. */
const packages = JSON.stringify({
  "@modelcontextprotocol/conformance": "0.1.16",
  "@modelcontextprotocol/server-everything": "2026.8.31",
  "@modelcontextprotocol/server-filesystem": "2026.8.31",
  "oidc-provider": "9.13.3",
  mammoth: "1.13.0",
  node: "22",
})

// Written last, so that an interrupted installation is repeated.
const isComplete = existsSync(done) && readFileSync(done, "utf8") === packages
console.log(isComplete ? "extensions: installed" : "extensions: installing servers and suites into .extensions, once")
if (!isComplete) install()

function install() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), `{ "private": true, "type": "module", "dependencies": ${packages} }`)
  // Without a lock file: it may name hosts. Scripts: the one of `node` puts its binary in place.
  const options = [
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--progress",
    "--loglevel=error",
    "--foreground-scripts",
  ]
  const { status, error } = spawnSync("npm", ["install", ...options], { cwd: folder, stdio: "inherit" })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(done, packages)
}
