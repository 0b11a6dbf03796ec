/** MCP servers by name. */
export type McpServers = Readonly<Record<string, McpServer>>

export type McpServer = McpProgram | McpRemote

/** A server that is started as a program and communicates over its standard input and output. */
export interface McpProgram extends McpServerSettings {
  readonly type?: "stdio"
  readonly command: string
  readonly args?: readonly string[]
  /** The folder that it starts in, as an absolute path. Default: that of the run. */
  readonly cwd?: string
  /** Variables for the server, in addition to PATH, HOME, locale and similar. */
  readonly env?: Readonly<Record<string, string>>
  /** The protocol revision, if the program has this one: it cannot be found out without risk. Default: an earlier one. */
  readonly revision?: "2026-07-28"
}

/** A server at an address. */
export interface McpRemote extends McpServerSettings {
  /** Default `http`. */
  readonly type?: "http" | "sse"
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Called before every request, and once more if the server answers 401. Its headers take precedence over `headers`. */
  readonly headersProvider?: () => HeaderValues | Promise<HeaderValues>
  /** How to obtain tokens. Default: by a person's login with `longhaul mcp login`. */
  readonly auth?: McpAuth
  /** Sends every request on its own and expects no session and no stream from the server. */
  readonly preferBindingTransport?: boolean
}

type HeaderValues = Readonly<Record<string, string>>

/** Settings that only the runtime's own connection has: a server with one of them is not passed on to another program. */
export interface McpServerSettings {
  /** The run fails if the server is not available. Default: a warning, and none of its tools. */
  readonly required?: boolean
  /** For one call, counted again after each progress report. Default 60 s; at most ten times as long in all. */
  readonly timeoutMs?: number
  /** Trusts the server's statements about the effects of its tools. Default false: no call is repeated. */
  readonly trustHints?: boolean
  /** Lets the server request answers of the run's model. Default false. */
  readonly allowSampling?: boolean
}

export interface McpAuth {
  /** `login`: a person logs in, once. `client-credentials`: the program is known to the server. Default `login`. */
  readonly grant?: "login" | "client-credentials"
  /** Absent: the client registers itself, if the server allows it. */
  readonly clientId?: string
  readonly clientSecret?: string
  /** Instead of a secret: a private key in PEM format, with its algorithm, such as `ES256`. */
  readonly privateKey?: string
  readonly algorithm?: string
  /** The address of a document that describes the client. Servers that support it need no registration. */
  readonly clientMetadataUrl?: string
  readonly scope?: string
  /** Accepts an issuer other than the address of its metadata, as servers of the revision 2025-03-26 may have. Default false. */
  readonly allowOtherIssuer?: boolean
  /** Instead of all of these: an `OAuthClientProvider` of `@modelcontextprotocol/client`. */
  readonly provider?: object
}
