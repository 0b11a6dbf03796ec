/** MCP servers by name. */
export type McpServers = Readonly<Record<string, McpServer>>

export type McpServer =
  | {
      readonly command: string
      readonly args?: readonly string[]
      /** Variables for the server, in addition to PATH, HOME, locale and similar. */
      readonly env?: Readonly<Record<string, string>>
    }
  | {
      /** Default `http`. */
      readonly type?: "http" | "sse"
      readonly url: string
      readonly headers?: Readonly<Record<string, string>>
    }
