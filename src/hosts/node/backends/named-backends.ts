import type { Backend } from "../../../contract/backend.ts"
import type { BackendSource } from "../../../settings/backends/backends.ts"

/** The backends of this host by name, in order of preference. Their modules are loaded on first use. */
const creators: Readonly<Record<string, () => Promise<Backend>>> = {
  "claude-sdk": async () => (await import("../../../backends/claude-sdk/index.ts")).claudeSdk(),
  "claude-cli": async () => (await import("../../../backends/claude-cli/index.ts")).claudeCli(),
  codex: async () => (await import("../../../backends/codex/index.ts")).codex(),
  ...Object.fromEntries(
    ["gemini", "copilot", "opencode", "cursor"].map((name) => [
      `acp:${name}`,
      async () => (await import("../../../backends/acp/index.ts")).acp({ name }),
    ]),
  ),
  pi: async () => (await import("../../../backends/pi/index.ts")).pi(),
}

export const namedBackends: BackendSource = {
  names: Object.keys(creators),
  create: (name) => (Object.hasOwn(creators, name) ? creators[name]?.() : undefined),
}
