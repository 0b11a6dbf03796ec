/** The names that Longhaul shows to other programs and in its advice. */
export interface Brand {
  /** Prefix of the ids of published schemas. Not used yet: no schema is published. */
  readonly schemaPrefix: string
  /** Client name sent to MCP servers. */
  readonly mcpClientName: string
  /** Client version sent to MCP servers, Codex and ACP agents. */
  readonly mcpClientVersion: string
  /** Prefix of temporary folders. Not used yet: the library creates none. */
  readonly tempdirPrefix: string
  /** Prefix of model names. Not used yet: Pi takes its own names. */
  readonly providerModelPrefix: string
  /** The command that errors name if a program is missing or does not work. */
  readonly doctorCommand: string
  /** Sent to web servers as `user-agent`. */
  readonly serviceName: string
  /** Client name sent to Codex and ACP agents. */
  readonly clientInfoName: string
  /** Client title sent to Codex and ACP agents. */
  readonly clientInfoTitle: string
}
