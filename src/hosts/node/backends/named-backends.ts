import type { Backend } from "../../../contract/backend.ts"
import type { BackendSource } from "../../../settings/backends/backends.ts"
import { type VendorBackend, vendorPrograms } from "../../../settings/backends/vendors.ts"

/** Their modules are loaded on first use. */
const creators: Readonly<Record<VendorBackend, () => Promise<Backend>>> = {
  "claude-sdk": async () => (await import("../../../backends/claude-sdk/index.ts")).claudeSdk(),
  "claude-cli": async () => (await import("../../../backends/claude-cli/index.ts")).claudeCli(),
  codex: async () => (await import("../../../backends/codex/index.ts")).codex(),
  "acp:gemini": () => acpAgent("gemini"),
  "acp:copilot": () => acpAgent("copilot"),
  "acp:opencode": () => acpAgent("opencode"),
  "acp:cursor": () => acpAgent("cursor"),
  pi: async () => (await import("../../../backends/pi/index.ts")).pi(),
}

async function acpAgent(name: string): Promise<Backend> {
  return (await import("../../../backends/acp/index.ts")).acp({ name })
}

/** The backends of this host by name. */
export const namedBackends: BackendSource = {
  names: Object.keys(vendorPrograms),
  // Safe: it is one of the names.
  create: (name) => (Object.hasOwn(creators, name) ? creators[name as VendorBackend]() : undefined),
}
