import { onAbort } from "../../lib/abort.ts"
import { configInvalid } from "../../lib/failures.ts"
import { exchange, jsonObjectIn, type ServiceClientSettings, ServiceFailure } from "./exchange.ts"

/** Exactly one of an API key, and a client id with its secret. */
export interface PolicyCredentials {
  readonly apiKey?: string
  readonly clientId?: string
  readonly clientSecret?: string
  /** The user on whose behalf the agent acts; only with a client id. */
  readonly subjectToken?: string
  readonly subjectTokenType?: string
}

/** Returns the bearer token for a request. */
export interface TokenSource {
  token(signal?: AbortSignal): Promise<string>
  /** Forgets a token that was refused. False: there is no other one. */
  renew(refused: string): boolean
}

/** Throws `config_invalid` unless there is exactly one complete source. */
export function tokenSource(credentials: PolicyCredentials, base: URL, via: ServiceClientSettings): TokenSource {
  const { apiKey, clientId, clientSecret, subjectToken, subjectTokenType } = credentials
  const hasClient = clientId !== undefined || clientSecret !== undefined
  if ((apiKey !== undefined) === hasClient || (hasClient && !(clientId && clientSecret)) || apiKey === "") {
    throw configInvalid(
      "The policy client needs one way to sign in.",
      "Pass either apiKey, or clientId and clientSecret.",
    )
  }
  if (subjectToken !== undefined && !hasClient) {
    throw configInvalid(
      "subjectToken works only with a client id.",
      "Pass clientId and clientSecret, or omit subjectToken.",
    )
  }
  if (subjectTokenType !== undefined && !isTokenType(subjectTokenType)) {
    throw configInvalid(
      `Unknown subjectTokenType ${JSON.stringify(subjectTokenType)}.`,
      `End it with one of: ${tokenTypes.join(", ")}.`,
    )
  }
  if (apiKey !== undefined) return { token: async () => apiKey, renew: () => false }
  return new ExchangedToken(
    new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId ?? "",
      client_secret: clientSecret ?? "",
      ...(subjectToken !== undefined && { subject_token: subjectToken }),
      ...(subjectTokenType !== undefined && { subject_token_type: subjectTokenType }),
    }).toString(),
    new URL("api/v1/oauth/token", base),
    via,
  )
}

/** A request for a token that calls wait for. */
interface Pending {
  readonly token: Promise<string>
  readonly stop: AbortController
  waiting: number
}

/**
 * A token from the service, kept until shortly before it expires. Calls at the same time share one request, which ends with the last of
 * them.
 */
class ExchangedToken implements TokenSource {
  readonly #form: string
  readonly #url: URL
  readonly #via: ServiceClientSettings
  #current: { readonly token: string; readonly until: number } | undefined
  #pending: Pending | undefined

  constructor(form: string, url: URL, via: ServiceClientSettings) {
    this.#form = form
    this.#url = url
    this.#via = via
  }

  async token(signal?: AbortSignal): Promise<string> {
    if (this.#current && performance.now() < this.#current.until) return this.#current.token
    this.#pending ??= this.#begin()
    const pending = this.#pending
    pending.waiting++
    const unlink = onAbort(signal, () => {
      if (--pending.waiting > 0) return
      // A call that comes now begins its own request.
      if (this.#pending === pending) this.#pending = undefined
      pending.stop.abort()
    })
    return pending.token.finally(unlink)
  }

  #begin(): Pending {
    const stop = new AbortController()
    const token = this.#request(stop.signal)
    const pending = { token, stop, waiting: 0 }
    const end = () => {
      if (this.#pending === pending) this.#pending = undefined
    }
    token.then(end, end)
    return pending
  }

  renew(refused: string): boolean {
    if (this.#current?.token === refused) this.#current = undefined
    return true
  }

  async #request(signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" }
    const { status, text } = await exchange(this.#via, this.#url, headers, this.#form, signal)
    if (status !== 200)
      throw new ServiceFailure("answer", "The policy service refused the client's credentials.", status)
    const { access_token: token, token_type: type, expires_in: seconds } = jsonObjectIn(text)
    const isBearer = typeof type === "string" && type.toLowerCase() === "bearer"
    if (typeof token !== "string" || token === "" || !isBearer || typeof seconds !== "number" || !(seconds > 0)) {
      throw new ServiceFailure("answer", "The policy service sent no usable token.")
    }
    const lifetime = seconds * 1000
    this.#current = { token, until: performance.now() + lifetime - Math.min(60_000, lifetime / 2) }
    return token
  }
}

const tokenTypes = ["token-type:user-id", "token-type:user-email", "token-type:access_token"]

function isTokenType(type: string): boolean {
  return type.startsWith("urn:") && tokenTypes.some((ending) => type.endsWith(`:${ending}`))
}
