import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client"
import type { TokenStore } from "../../contract/backend-env.ts"
import type { Brand } from "../../contract/brand.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { McpAuth, McpRemote } from "../../contract/mcp.ts"
import { newNonce } from "../../lib/id.ts"
import { canonicalJson } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"

/** How a person gets to the login and back. */
export interface LoginPage {
  /** Where the server sends the person afterwards. */
  readonly redirectUrl: string
  open(url: URL): void | Promise<void>
  /** The parameters of the redirect whose `state` is the given one. Others are refused. */
  returned(state: string): Promise<URLSearchParams>
}

/** Whose login it is, and at which server. */
export interface LoginPlace {
  readonly workspaceId: string
  readonly name: string
  readonly server: McpRemote
}

export interface LoginOptions extends LoginPlace {
  readonly tokens: TokenStore
  readonly brand: Brand
  /** Absent: a login is not possible here. */
  readonly page?: LoginPage
}

/** What is stored of a login. Clients and tokens belong to the server that issued them. */
interface Saved {
  readonly clients: Readonly<Record<string, StoredOAuthClientInformation>>
  readonly tokens: Readonly<Record<string, StoredOAuthTokens>>
  /** The issuer of the tokens in use. */
  readonly issuer?: string
}

/** The login of a person at an MCP server, kept between runs. */
export class SavedLogin implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #options: LoginOptions
  readonly #auth: McpAuth
  readonly #key: string
  #verifier = ""
  #discovered: OAuthDiscoveryState | undefined
  /** Identifies the login that is under way. */
  #state = ""

  constructor(options: LoginOptions) {
    this.#options = options
    this.#auth = options.server.auth ?? {}
    this.#key = loginKey(options)
    const { clientMetadataUrl } = this.#auth
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }

  get redirectUrl(): string {
    return this.#options.page?.redirectUrl ?? "http://127.0.0.1/callback"
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scope, clientSecret } = this.#auth
    return {
      client_name: this.#options.brand.mcpClientName,
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(clientSecret === undefined && { token_endpoint_auth_method: "none" }),
      ...(scope !== undefined && { scope }),
    }
  }

  state(): string {
    this.#state = newNonce()
    return this.#state
  }

  /** The redirect that ends the login which was begun here. */
  returned(): Promise<URLSearchParams> {
    const { page, name } = this.#options
    if (page) return page.returned(this.#state)
    throw loginNeeded(name)
  }

  async clientInformation(context?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    const { clientId, clientSecret } = this.#auth
    if (clientId !== undefined) {
      return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
    }
    const { clients, issuer } = await this.#read()
    return clients[context?.issuer ?? issuer ?? ""]
  }

  async saveClientInformation(
    client: StoredOAuthClientInformation,
    context?: OAuthClientInformationContext,
  ): Promise<void> {
    const saved = await this.#read()
    const issuer = context?.issuer ?? ""
    await this.#write({ ...saved, clients: { ...saved.clients, [issuer]: client } })
  }

  async tokens(context?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
    const { tokens, issuer } = await this.#read()
    return tokens[context?.issuer ?? issuer ?? ""]
  }

  async saveTokens(tokens: StoredOAuthTokens, context?: OAuthClientInformationContext): Promise<void> {
    const saved = await this.#read()
    const issuer = context?.issuer ?? ""
    await this.#write({ ...saved, tokens: { ...saved.tokens, [issuer]: tokens }, issuer })
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const { page, name } = this.#options
    if (page) return page.open(url)
    throw loginNeeded(name)
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state
  }

  /** The redirect must come from the server that the login was begun at. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered
  }

  async invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void> {
    const saved = await this.#read()
    if (scope === "all" || scope === "discovery") this.#discovered = undefined
    if (scope === "all" || scope === "client") await this.#write({ clients: {}, tokens: {} })
    else if (scope === "tokens") await this.#write({ clients: saved.clients, tokens: {} })
  }

  async #read(): Promise<Saved> {
    const text = await this.#options.tokens.read(this.#key)
    if (text === undefined) return { clients: {}, tokens: {} }
    // Written by this class.
    return JSON.parse(text) as Saved
  }

  #write(saved: Saved): Promise<void> {
    return this.#options.tokens.write(this.#key, JSON.stringify(saved))
  }
}

function loginNeeded(name: string): LonghaulError {
  return new LonghaulError("auth", `The MCP server ${name} needs a login.`, {
    fix: `Run \`longhaul mcp login ${name}\`.`,
  })
}

/** The key of a login: another address is another server, and another workspace is another tenant. */
export function loginKey({ workspaceId, name, server }: LoginPlace): string {
  return `${name}-${sha256(canonicalJson([workspaceId, name, server.url])).slice(0, 32)}`
}

/** Where the requests to a server get their tokens. Undefined: they need none, or have their own headers. */
export async function authProviderOf(
  place: LoginPlace,
  host: { readonly tokens?: TokenStore; readonly brand: Brand },
  page?: LoginPage,
): Promise<OAuthClientProvider | undefined> {
  const { name, server } = place
  const { auth } = server
  // The caller says that it is one; the protocol layer uses nothing else of it.
  if (auth?.provider !== undefined) return auth.provider as OAuthClientProvider
  if (auth?.grant === "client-credentials") return programCredentials(name, auth)
  const { tokens, brand } = host
  const hasOwnHeaders = server.headersProvider !== undefined || hasAuthorization(server)
  return tokens && !hasOwnHeaders ? new SavedLogin({ ...place, tokens, brand, ...(page && { page }) }) : undefined
}

async function programCredentials(name: string, auth: McpAuth): Promise<OAuthClientProvider> {
  const { ClientCredentialsProvider, PrivateKeyJwtProvider } = await import("@modelcontextprotocol/client")
  const { clientId, clientSecret, privateKey, algorithm, scope } = auth
  const more = scope === undefined ? {} : { scope }
  if (clientId !== undefined && clientSecret !== undefined) {
    return new ClientCredentialsProvider({ clientId, clientSecret, ...more })
  }
  if (clientId !== undefined && privateKey !== undefined && algorithm !== undefined) {
    return new PrivateKeyJwtProvider({ clientId, privateKey, algorithm, ...more })
  }
  throw new LonghaulError("config_invalid", `The MCP server ${name} has no complete credentials.`, {
    fix: "Pass auth with clientId and clientSecret, or with clientId, privateKey and algorithm.",
  })
}

function hasAuthorization({ headers = {} }: McpRemote): boolean {
  return Object.keys(headers).some((header) => header.toLowerCase() === "authorization")
}
