import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { geminiAgent } from "../../src/backends/acp/gemini.ts"
import { acp } from "../../src/backends/acp/index.ts"
import type { PlacedBackend } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

export const placedCopilot: PlacedBackend = {
  name: "acp:copilot",
  ours: (tool, args) => ({ name: `longhaul-${tool}`, args }),
  own: { tool: "Write", call: (file, text) => ({ name: "create", args: { path: file, file_text: text } }) },
  speaks: {
    isAbsolute: true,
    command: (command) => ({ name: "bash", args: { command, description: "Runs it" } }),
    write: (path, text) => ({ name: "create", args: { path, file_text: text } }),
    read: (path) => ({ name: "view", args: { path } }),
  },
  configure: ({ url, home, isLoggedOut }) => ({
    backend: acp({
      name: "copilot",
      command: programs.copilot,
      env: {
        HOME: home,
        COPILOT_OFFLINE: "true",
        COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
        COPILOT_PROVIDER_API_KEY: isLoggedOut ? "" : "x",
      },
    }),
    model: "gpt-4.1",
  }),
}

const repeatsForEver = "opencode repeats the request without end and tells nothing (traces/opencode-*.jsonl)"

export const placedOpencode: PlacedBackend = {
  name: "acp:opencode",
  lacks: {
    "a rate limit is a typed failure": repeatsForEver,
    "an error of the server is a typed failure": repeatsForEver,
    "a stream that ends in the middle is a typed failure": repeatsForEver,
  },
  ours: (tool, args) => ({ name: `longhaul_${tool}`, args }),
  own: { tool: "Write", call: (file, text) => ({ name: "write", args: { filePath: file, content: text } }) },
  speaks: {
    command: (command) => ({ name: "bash", args: { command, description: "Runs it" } }),
    write: (path, text) => ({ name: "write", args: { filePath: path, content: text } }),
    read: (path) => ({ name: "read", args: { filePath: path } }),
    fetch: (url) => ({ name: "webfetch", args: { url, format: "text" } }),
  },
  configure: ({ url, home, isLoggedOut }) => {
    const options = { baseURL: `${url}/v1`, apiKey: isLoggedOut ? "" : "x" }
    const models = { gpt: { limit: { context: 100_000, output: 4000 }, cost: { input: 1, output: 2 } } }
    const lab = { npm: "@ai-sdk/openai-compatible", options, models }
    const config = { model: "lab/gpt", enabled_providers: ["lab"], provider: { lab } }
    const env = { HOME: home, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_CONFIG_CONTENT: JSON.stringify(config) }
    return { backend: acp({ name: "opencode", command: programs.opencode, env }) }
  },
}

/** One attempt for each request: the runtime retries. */
const geminiSettings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, sessionRetention: { enabled: false }, maxAttempts: 1 },
  telemetry: { enabled: false },
}

/** As the user's: given as settings of the system, its limit of attempts had no effect. */
function settleGemini(home: string): void {
  if (home === "") return
  mkdirSync(join(home, ".gemini"), { recursive: true })
  writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(geminiSettings))
}

export const placedGemini: PlacedBackend = {
  name: "acp:gemini",
  ours: (tool, args) => ({ name: `mcp_longhaul_${tool}`, args }),
  own: { tool: "Write", call: (file, text) => ({ name: "write_file", args: { file_path: file, content: text } }) },
  speaks: {
    command: (command) => ({ name: "run_shell_command", args: { command } }),
    write: (path, content) => ({ name: "write_file", args: { file_path: path, content } }),
    read: (path) => ({ name: "read_file", args: { file_path: path } }),
    fetch: (url) => ({ name: "web_fetch", args: { prompt: `What is at ${url}?` } }),
  },
  configure: ({ url, home, isLoggedOut }) => {
    settleGemini(home)
    const address = url === "" ? { HTTPS_PROXY: "http://127.0.0.1:9" } : { GOOGLE_GEMINI_BASE_URL: url }
    const env = { HOME: home, GEMINI_API_KEY: isLoggedOut ? "" : "x", ...address }
    const args = [programs.gemini, ...geminiAgent.args]
    return { backend: acp({ name: "gemini", command: process.execPath, args, env }), model: "gemini-2.5-flash" }
  },
}
