import type { Capabilities } from "../../contract/capabilities.ts"
import { enforcement, ownTools } from "./tools.ts"

export const capabilities: Capabilities = {
  provider: "anthropic",
  features: [
    "streaming",
    "tools",
    "parallel_tools",
    "vision",
    "code_execution",
    "file_access",
    "web_access",
    "interrupt",
    "structured_output",
    "mcp",
  ],
  models: "own",
  history: "brief",
  resume: "session",
  suspend: { ours: "replay", own: "replay" },
  steer: "turn",
  structured: "vendor",
  metering: "end",
  reportsCost: true,
  ownTools,
  enforcement,
  edge: false,
  contextTokens: 200_000,
  outputTokens: 8192,
  usdPer1k: { input: 0.003, output: 0.015 },
  latencyMs: 1000,
  coldStartMs: 500,
}
