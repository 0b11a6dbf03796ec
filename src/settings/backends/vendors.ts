/** The backends of vendors that this package has by name, in order of preference, and the program of each. */
export const vendorPrograms = {
  "claude-sdk": "claude",
  "claude-cli": "claude",
  codex: "codex",
  "acp:gemini": "gemini",
  "acp:copilot": "copilot",
  "acp:opencode": "opencode",
  "acp:cursor": "cursor-agent",
  pi: "pi",
} as const satisfies Readonly<Record<string, string>>

export type VendorBackend = keyof typeof vendorPrograms

/** True for a name that only a backend has. Any agent that speaks ACP has one. */
export function isBackendName(name: string): boolean {
  return name === "native" || name === "auto" || Object.hasOwn(vendorPrograms, name) || /^acp:[a-z0-9-]+$/.test(name)
}
