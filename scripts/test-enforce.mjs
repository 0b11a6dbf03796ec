// Installs the agent frameworks that test/enforce runs, beside the repository's own packages and only once.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../.enforce", import.meta.url))
const done = join(folder, "installed.json")
/** Exact versions: the tests name what these very versions let through. */
const packages = JSON.stringify({
  "ai-6": "npm:ai@6.0.326",
  "ai-7": "npm:ai@7.0.169",
  "ai-sdk-openai-3": "npm:@ai-sdk/openai@3.0.139",
  "ai-sdk-openai-4": "npm:@ai-sdk/openai@4.0.93",
  "@openai/agents": "0.20.0",
  "@google/adk": "2.0.0",
  "@anthropic-ai/claude-agent-sdk": "0.3.325",
  zod: "4.6.7",
})

// Written last, so that an interrupted installation is repeated.
const isComplete = existsSync(done) && readFileSync(done, "utf8") === packages
console.log(isComplete ? "enforce: installed" : "enforce: installing the frameworks into .enforce, once")
if (!isComplete) install()

function install() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), `{ "private": true, "type": "module", "dependencies": ${packages} }`)
  // Without scripts: none is needed. Without a lock file: it may name hosts.
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--progress", "--loglevel=error"]
  const { status, error } = spawnSync("npm", ["install", ...options], { cwd: folder, stdio: "inherit" })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(done, packages)
}
