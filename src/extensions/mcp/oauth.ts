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
import { canonicalJson, isJsonObject } from "../../lib/json.ts"
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
  /** See `ExtensionRun`. */
  readonly tenant: string
  readonly name: string
  readonly server: McpRemote
}

export interface LoginOptions extends LoginPlace {
  readonly tokens: TokenStore
  readonly brand: Brand
  /** Absent: a login is not possible here. */
  readonly page?: LoginPage | undefined
}

/** The stored state of a login. Clients and tokens belong to the server that issued them. */
interface Saved {
  readonly clients: Readonly<Record<string, StoredOAuthClientInformation>>
  readonly tokens: Readonly<Record<string, StoredOAuthTokens>>
  /** The issuer of the tokens in use. */
  readonly issuer?: string
  /** Rights that the server asked for when no one could log in: the next login asks for them. */
  readonly wanted?: string
}

/** The login of a person at an MCP server, kept between runs. */
export class SavedLogin implements OAuthClientProvider {
  readonly clientMetadataUrl?: string
  readonly #options: LoginOptions
  readonly #auth: McpAuth
  readonly #key: string
  #verifier = ""
  #discovered: OAuthDiscoveryState | undefined
  /** Who issued the refresh tokens that were given out: the tokens of one issuer never go to another. */
  readonly #issuers = new Map<string, string>()
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
    const { clients, issuer, wanted } = await this.#read()
    const client = clients[context?.issuer ?? issuer ?? ""]
    // It was registered for fewer rights: the client registers itself again.
    const isTooSmall = client !== undefined && "scope" in client && !hasScopes(client.scope, wanted)
    return isTooSmall ? undefined : client
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
    const { tokens, issuer: last = "" } = await this.#read()
    const issuer = context?.issuer ?? last
    const found = tokens[issuer]
    if (found?.refresh_token !== undefined) this.#issuers.set(found.refresh_token, issuer)
    return found
  }

  async saveTokens(tokens: StoredOAuthTokens, context?: OAuthClientInformationContext): Promise<void> {
    const { wanted, ...saved } = await this.#read()
    const issuer = context?.issuer ?? ""
    // A login has asked for them; a refresh brings the same rights as before.
    const isOpen = wanted !== undefined && this.#options.page === undefined
    await this.#write({ ...saved, tokens: { ...saved.tokens, [issuer]: tokens }, issuer, ...(isOpen && { wanted }) })
  }

  /** The rights that the next login has to ask for, if the server wanted more than there were. */
  async wanted(): Promise<string | undefined> {
    return (await this.#read()).wanted
  }

  /**
   * Notes which rights the server requires. Throws if only a login can help and no one can log in: neither the server
   * nor the one that it names for logins gets further requests.
   */
  async refused(response: Response): Promise<void> {
    const { page, name } = this.#options
    const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client")
    const { scope, error } = extractWWWAuthenticateParams(response)
    const saved = await this.#read()
    const current = saved.tokens[saved.issuer ?? ""]
    if (response.status === 403) {
      if (error !== "insufficient_scope") return
      const wanted = allScopes(current?.scope, saved.wanted, scope)
      await this.#write({ ...saved, wanted })
      if (page === undefined) throw loginNeeded(name, wanted)
    } else if (page === undefined && current?.refresh_token === undefined) throw loginNeeded(name)
  }

  /**
   * Sends a request for new tokens, one at a time over all processes: most servers accept a refresh token once. If another process
   * has got new ones in the meantime, these are the answer.
   */
  refresh(token: string, send: () => Promise<Response>): Promise<Response> {
    return this.#options.tokens.exclusively(this.#key, async () => {
      const issuer = this.#issuers.get(token)
      const current = issuer === undefined ? undefined : (await this.#read()).tokens[issuer]
      if (current && current.refresh_token !== token) return Response.json(current)
      const response = await send()
      if (response.ok && current) {
        const received: unknown = await response.clone().json()
        // A server may keep the refresh token and not repeat it.
        if (isJsonObject(received))
          await this.saveTokens({ ...current, ...received }, issuer === undefined ? undefined : { issuer })
      }
      return response
    })
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

function loginNeeded(name: string, scopes?: string): LonghaulError {
  const what = scopes === undefined ? "a login" : "a login with more rights"
  return new LonghaulError("auth", `The MCP server ${name} needs ${what}.`, {
    fix: `Run \`longhaul mcp login ${name}\`${scopes === undefined ? "" : `, which asks for: ${scopes}`}.`,
  })
}

/** Each once. A scope that the standard does not allow is omitted. */
function allScopes(...given: readonly (string | null | undefined)[]): string {
  const scopes = given.flatMap((each) => each?.split(" ") ?? [])
  return [...new Set(scopes)]
    .filter((scope) => /^[!#-[\]-~]{1,200}$/.test(scope))
    .slice(0, MAX_SCOPES)
    .join(" ")
}

function hasScopes(scopes: unknown, wanted = ""): boolean {
  const known = typeof scopes === "string" ? scopes.split(" ") : []
  return wanted.split(" ").every((scope) => scope === "" || known.includes(scope))
}

const MAX_SCOPES = 100

/** The key of a login: another address is another server, and another workspace or store is another tenant. */
export function loginKey({ tenant, name, server }: LoginPlace): string {
  return `${name}-${sha256(canonicalJson([tenant, name, server.url])).slice(0, 32)}`
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
  return tokens && !hasOwnHeaders ? new SavedLogin({ ...place, tokens, brand, page }) : undefined
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
