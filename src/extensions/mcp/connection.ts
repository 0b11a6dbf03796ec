import type {
  CallToolResult,
  Client,
  GetPromptResult,
  InputRequiredResult,
  JsonSchemaValidator,
  jsonSchemaValidator,
  Tool as McpTool,
  Progress,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Transport,
} from "@modelcontextprotocol/client"
import type { BackendEnv, ProgramExit } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpProgram, McpRemote, McpServer } from "../../contract/mcp.ts"
import { ToolError } from "../../contract/tool.ts"
import { orAborted, withTimeout } from "../../lib/abort.ts"
import { withTexts } from "../../lib/json.ts"
import { serverCredentials } from "../../lib/mcp-servers.ts"
import { firstWords } from "../../lib/text/before-cut.ts"
import { Masks } from "../../lib/text/masks.ts"
import { CancelNotices } from "./cancel-notices.ts"
import { visible } from "./definitions.ts"
import { type ServerFetchOptions, serverFetch } from "./http-fetch.ts"
import { LineTransport } from "./line-transport.ts"
import { authProviderOf, type LoginPage, SavedLogin } from "./oauth.ts"
import { startMs } from "./start-time.ts"

/** The services that a connection needs from its host. */
export interface ConnectionOptions {
  readonly name: string
  readonly server: McpServer
  readonly host: Pick<BackendEnv, "spawn" | "brand" | "tokens">
  /** See `ExtensionRun`: logins are its own. */
  readonly tenant: string
  readonly runId: string
  readonly cwd: string
  readonly signal: AbortSignal
  /** Answers the server's requests: declares capabilities and sets handlers. */
  readonly serve?: () => Served
  readonly fetch?: typeof fetch | undefined
  /** Present if a person can log in. */
  readonly page?: LoginPage | undefined
}

/** The capabilities that the client declares, and the handlers that they need. */
export interface Served {
  readonly capabilities: JsonObject
  register(client: Client): void
  /** Answers a request that came with a result, other than a question to a person. */
  answer(method: string, params: Json | undefined): Promise<JsonObject>
}

export interface CallOptions {
  readonly signal: AbortSignal
  progress(message: string): void
  /** A person can be asked, at any time. */
  readonly canAsk?: boolean
  /** The fields that are sent again with a call that the server did not complete. */
  readonly retry?: Retry | undefined
}

export interface Retry {
  readonly inputResponses?: JsonObject
  readonly requestState?: string | undefined
}

const CALL_MS = 60_000
/** A server that keeps asking for more rights gets at most these. */
const MAX_LOGINS = 2
const MAX_LINE_LENGTH = 300

/**
 * One server, connected on first use and again after it was lost. A request is repeated only if the server refused it without processing it.
 */
export class ServerConnection {
  /** The end of the program that was started last. */
  #exit: Promise<ProgramExit> | undefined
  readonly name: string
  readonly server: McpServer
  readonly #options: ConnectionOptions
  #connected: Promise<Client> | undefined
  #served: Served | undefined
  /** The newest client: an older one that is closed later changes nothing. */
  #client: Client | undefined
  /** Completes a login that the server requested. Undefined: no login page is available. */
  #finishLogin: (() => Promise<void>) | undefined
  #logins = 0
  readonly #notices = new CancelNotices()
  /** Tokens that the requests contained: a server may repeat them. */
  readonly #sent = new Masks()

  constructor(options: ConnectionOptions) {
    this.name = options.name
    this.server = options.server
    this.#options = options
  }

  /** Rejects with the reason if the server does not start in time. */
  async connect(): Promise<Client> {
    this.#connected ??= this.#open()
    const attempt = this.#connected
    try {
      return await attempt
    } catch (error) {
      // Others waited for it, too, and may have begun another one.
      if (this.#connected === attempt) this.#connected = undefined
      throw error
    }
  }

  async tools(): Promise<readonly McpTool[]> {
    const client = await this.connect()
    if (!client.getServerCapabilities()?.tools) return []
    return this.#masked((await client.listTools(undefined, this.#limits())).tools)
  }

  /** A server that needs input before it acts gets it from `elicit`, if there is one; else the caller gets the request. */
  async callTool(
    name: string,
    args: JsonObject,
    { signal, progress, canAsk = false, retry = {} }: CallOptions,
  ): Promise<CallToolResult | InputRequiredResult> {
    const onprogress = (at: Progress) => progress(this.masked(describe(at)))
    const { capabilities = {} } = this.#served ?? {}
    const allowInputRequired = capabilities.elicitation === undefined
    const options = { ...this.#limits(), signal, onprogress, allowInputRequired }
    const { CLIENT_CAPABILITIES_META_KEY } = await import("@modelcontextprotocol/client")
    const declared = { [CLIENT_CAPABILITIES_META_KEY]: { ...capabilities, elicitation: { form: {}, url: {} } } }
    const result: CallToolResult | InputRequiredResult = await this.#request((client) => {
      // Declared for single calls: a server of an older revision would block until the answer.
      const isDeclared = canAsk && allowInputRequired && client.getProtocolEra() === "modern"
      return client.callTool(
        { name, arguments: { ...args }, ...retry, ...(isDeclared && { _meta: declared }) },
        options,
      )
    })
    // The server's own state is returned to it exactly.
    return "resultType" in result ? result : this.#masked(result)
  }

  answer(method: string, params: Json | undefined): Promise<JsonObject> {
    if (this.#served) return this.#served.answer(method, params)
    throw new ToolError("denied", `The MCP server ${this.name} requested ${visible(method)}, which is not permitted.`)
  }

  async resources(): Promise<{
    readonly resources: readonly Resource[]
    readonly templates: readonly ResourceTemplateType[]
  }> {
    const listed = await this.#request(async (client) => {
      if (!client.getServerCapabilities()?.resources) return { resources: [], templates: [] }
      const { resources } = await client.listResources(undefined, this.#limits())
      const { resourceTemplates } = await client.listResourceTemplates(undefined, this.#limits())
      return { resources, templates: resourceTemplates }
    })
    return this.#masked(listed)
  }

  async readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return this.#masked(await this.#request((client) => client.readResource({ uri }, { ...this.#limits(), signal })))
  }

  async prompts(): Promise<readonly Prompt[]> {
    const listed = await this.#request(async (client) =>
      client.getServerCapabilities()?.prompts ? (await client.listPrompts(undefined, this.#limits())).prompts : [],
    )
    return this.#masked(listed)
  }

  async prompt(name: string, args: Readonly<Record<string, string>>): Promise<GetPromptResult> {
    return this.#masked(
      await this.#request((client) => client.getPrompt({ name, arguments: { ...args } }, this.#limits())),
    )
  }

  async close(): Promise<void> {
    const connected = this.#connected
    this.#connected = undefined
    await this.#notices.sent()
    await connected?.then((client) => client.close()).catch(() => {})
  }

  /** The same text without the server's credentials and the tokens of the requests. */
  masked(text: string): string {
    let clean = this.#sent.text(text)
    for (const credential of Object.values(serverCredentials({ [this.name]: this.server }))) {
      clean = clean.replaceAll(credential, "[secret]")
    }
    return clean
  }

  #masked<T>(result: T): T {
    // Came as JSON, and only texts change.
    return withTexts(result as Json, (text) => this.#sent.text(text)) as T
  }

  /** Of a request that ends with the run, unless its caller has a signal for it. */
  #limits() {
    const timeout = this.server.timeoutMs ?? CALL_MS
    const { signal } = this.#options
    return { timeout, resetTimeoutOnProgress: true, maxTotalTimeout: timeout * 10, signal }
  }

  /** A lost session is opened again once: the server has not processed the request. */
  async #request<T>(send: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.connect()
    try {
      return await send(client)
    } catch (error) {
      if (await this.#hasLoggedIn(error)) return this.#request(send)
      if (!(await isLostSession(error))) throw error
      if (this.#client === client) this.#connected = undefined
      client.close().catch(() => {})
      return send(await this.connect())
    }
  }

  /** True if the server asked for a login, or for more rights, and a person has logged in. */
  async #hasLoggedIn(error: unknown): Promise<boolean> {
    const { UnauthorizedError } = await import("@modelcontextprotocol/client")
    if (!(error instanceof UnauthorizedError) || !this.#finishLogin || this.#logins >= MAX_LOGINS) return false
    this.#logins++
    await this.#finishLogin()
    return true
  }

  async #open(): Promise<Client> {
    const { host, serve } = this.#options
    const sdk = await import("@modelcontextprotocol/client")
    const served = serve?.()
    this.#served = served
    const isProgram = "command" in this.server
    const { revision } = "command" in this.server ? this.server : {}
    const client = new sdk.Client(
      { name: host.brand.mcpClientName, version: host.brand.mcpClientVersion },
      {
        capabilities: served?.capabilities ?? {},
        jsonSchemaValidator: anyResult,
        // On a program's channel the question for the revision could hang an older server.
        ...(!isProgram && { versionNegotiation: { mode: "auto" as const } }),
        ...(revision !== undefined && { versionNegotiation: { mode: { pin: revision } } }),
      },
    )
    served?.register(client)
    this.#client = client
    client.onclose = () => {
      if (this.#client === client) this.#connected = undefined
    }
    for (;;) {
      const transport = this.#notices.of(await this.#transport(sdk))
      try {
        await this.#connectTo(client, transport)
        return client
      } catch (error) {
        const isRetried = await this.#hasLoggedIn(error)
        await transport.close().catch(() => {})
        if (!isRetried) throw await this.#withLastLine(ownErrorIn(error) ?? error)
      }
    }
  }

  /** The protocol layer limits its own requests, but neither the start of a stream nor the requests for a token. */
  async #connectTo(client: Client, transport: Transport): Promise<void> {
    const timeout = startMs(this.server)
    const isConnected = await withTimeout(timeout, this.#options.signal, (limit) => {
      const connecting = client.connect(transport, { timeout, signal: limit })
      return orAborted(
        connecting.then(() => true),
        limit,
      )
    })
    if (isConnected) return
    throw new Error(
      this.#options.signal.aborted ? "The run is being stopped" : `It did not answer within ${timeout} ms`,
    )
  }

  /** With the last output of a program that did not start: most report the cause there. */
  async #withLastLine(error: unknown): Promise<unknown> {
    const { stderr = "" } = (await this.#exit) ?? {}
    const line = firstWords(stderr.trimEnd().split("\n").at(-1)?.trim() ?? "", MAX_LINE_LENGTH)
    if (line === "" || !(error instanceof Error)) return error
    const message = `${error.message.replace(/\.$/, "")}; its last line: ${line}`
    return LonghaulError.is(error)
      ? new LonghaulError(error.code, message, { ...error.toJSON(), cause: error })
      : new Error(message, { cause: error })
  }

  async #transport(sdk: typeof import("@modelcontextprotocol/client")): Promise<Transport> {
    const { server } = this
    if ("command" in server) {
      const channel = await this.#start(server)
      this.#exit = channel.exit
      return new LineTransport(channel)
    }
    const url = addressOf(this.name, server)
    const { host, fetch: given = fetch, page, tenant, signal } = this.#options
    const authProvider = await authProviderOf({ name: this.name, server, tenant }, host, page)
    const login = authProvider instanceof SavedLogin ? authProvider : undefined
    const ofLogin: Pick<ServerFetchOptions, "refresh" | "refused"> = login
      ? { refresh: (token, send) => login.refresh(token, send), refused: (response) => login.refused(response) }
      : {}
    const options = {
      fetch: serverFetch(
        { ...server, signal, seen: (name, secret) => this.#sent.add(name, secret), ...ofLogin },
        given,
      ),
      ...(authProvider && { authProvider }),
      ...(server.auth?.allowOtherIssuer && { skipIssuerMetadataValidation: true }),
    }
    const transport =
      server.type === "sse"
        ? new sdk.SSEClientTransport(url, options)
        : new sdk.StreamableHTTPClientTransport(url, options)
    if (page && login) {
      const finish = async () => transport.finishAuth(await login.returned())
      this.#finishLogin = finish
      const scope = await login.wanted()
      if (scope !== undefined) {
        const { fetch: fetchFn, authProvider: _, ...more } = options
        const asked = { ...more, serverUrl: url, scope, fetchFn, forceReauthorization: true }
        if ((await sdk.auth(login, asked)) === "REDIRECT") await finish()
      }
    }
    return transport
  }

  #start({ command, args = [], env = {}, cwd = this.#options.cwd }: McpProgram) {
    const { host, runId } = this.#options
    if (host.spawn) {
      const install = `Install the MCP server ${this.name}: ${command} was not found.`
      return host.spawn({ command, args, cwd, runId, passEnv: [], env, install })
    }
    throw new LonghaulError(
      "config_invalid",
      `The MCP server ${this.name} is a program, and this host cannot start programs.`,
      {
        fix: 'Use createRuntime of "longhaul/node", or a server with a url.',
      },
    )
  }
}

/**
 * The protocol layer compiles every schema of a server's results, and checks results with JavaScript's own pattern engine. Nothing here
 * depends on the shape of a result, which the model reads as text: nothing is compiled or checked.
 */
const anyResult: jsonSchemaValidator = { getValidator: unchecked }

function unchecked<T>(): JsonSchemaValidator<T> {
  // Safe: no caller reads a result as this type.
  return (data) => ({ valid: true, data: data as T, errorMessage: undefined })
}

/** The reason that the login gave, which the protocol layer wraps in others. */
function ownErrorIn(error: unknown): LonghaulError | undefined {
  if (LonghaulError.is(error)) return error
  return error instanceof Error ? ownErrorIn(error.cause) : undefined
}

function addressOf(name: string, { url }: McpRemote): URL {
  if (URL.canParse(url)) return new URL(url)
  throw new LonghaulError("config_invalid", `The url of the MCP server ${name} is not a URL.`, {
    fix: "Pass an address such as https://example.com/mcp.",
  })
}

function describe({ progress, total, message }: Progress): string {
  const figures = total === undefined ? String(progress) : `${progress} of ${total}`
  return message === undefined ? figures : `${message} (${figures})`
}

/** The server no longer knows the session, so it has not processed the request. */
async function isLostSession(error: unknown): Promise<boolean> {
  const { SdkHttpError } = await import("@modelcontextprotocol/client")
  return error instanceof SdkHttpError && error.status === 404
}
