import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { geminiAgent } from "../../src/backends/acp/agents.ts"
import { type AcpOptions, acp } from "../../src/backends/acp/index.ts"
import type { BackendBench, OwnWrite } from "../../src/testing/index.ts"
import { openPlace, type PlaceFacts } from "../support/backend-place.ts"
import { programs } from "./programs.ts"

interface AgentBench extends Pick<BackendBench, "lacks"> {
  readonly name: string
  /** How the model names one of the runtime's tools. */
  ours(tool: string): string
  readonly write: OwnWrite["call"]
  readonly model?: string
  configure(facts: PlaceFacts): Omit<AcpOptions, "name">
}

/** A backend that drives a real agent, on a simulated model. */
function acpBench({ name, lacks, ours, write, model, configure }: AgentBench): BackendBench {
  return {
    name: `acp:${name}`,
    ...(lacks && { lacks }),
    ours: (tool, args) => ({ name: ours(tool), args }),
    own: { tool: "Write", call: write },
    open: (options) =>
      openPlace(options, (facts) => ({
        backend: acp({ name, ...configure(facts) }),
        ...(model !== undefined && { model }),
      })),
  }
}

export const copilotBench = acpBench({
  name: "copilot",
  ours: (tool) => `longhaul-${tool}`,
  // The program takes absolute paths only, and the model does not know where the workspace is.
  write: (file, text) => ({ name: "create", args: { path: file, file_text: text } }),
  model: "gpt-4.1",
  configure: ({ url, home, isLoggedOut }) => ({
    command: programs.copilot,
    env: {
      HOME: home,
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: isLoggedOut ? "" : "x",
    },
  }),
})

export const opencodeBench = acpBench({
  name: "opencode",
  ours: (tool) => `longhaul_${tool}`,
  write: (file, text) => ({ name: "write", args: { filePath: file, content: text } }),
  configure: ({ url, home, isLoggedOut }) => {
    const options = { baseURL: `${url}/v1`, apiKey: isLoggedOut ? "" : "x" }
    const models = { gpt: { limit: { context: 100_000, output: 4000 }, cost: { input: 1, output: 2 } } }
    const lab = { npm: "@ai-sdk/openai-compatible", options, models }
    const config = { model: "lab/gpt", enabled_providers: ["lab"], provider: { lab } }
    return {
      command: programs.opencode,
      env: { HOME: home, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_CONFIG_CONTENT: JSON.stringify(config) },
    }
  },
})

export const geminiBench = acpBench({
  name: "gemini",
  ours: (tool) => `mcp_longhaul_${tool}`,
  write: (file, text) => ({ name: "write_file", args: { file_path: file, content: text } }),
  model: "gemini-2.5-flash",
  configure: ({ url, home, isLoggedOut }) => {
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      // One attempt: the runtime retries.
      general: { enableAutoUpdate: false, sessionRetention: { enabled: false }, maxAttempts: 1 },
      telemetry: { enabled: false },
    }
    mkdirSync(join(home, ".gemini"), { recursive: true })
    writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings))
    return {
      command: process.execPath,
      args: [programs.gemini, ...geminiAgent.args],
      env: { HOME: home, GEMINI_API_KEY: isLoggedOut ? "" : "x", GOOGLE_GEMINI_BASE_URL: url },
    }
  },
})
