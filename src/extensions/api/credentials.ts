import { ToolError } from "../../contract/tool.ts"
import { bytesToBase64 } from "../../lib/bytes.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"
import { isCredential } from "../../lib/text/credential.ts"
import type { Masks } from "../../lib/text/masks.ts"
import { isHeaderName, isHeaderValue } from "./header-syntax.ts"
import type { ApiAuth, CheckedService } from "./service.ts"

/** Secrets by name: a value, or a function that returns the current one. */
export type ApiEnv = Readonly<Record<string, string | (() => string)>>

/** The call that `resolveAuth` is asked about. */
export interface AuthRequest {
  readonly serviceName: string
  readonly method: string
  readonly path: string
}

/** Returns the headers of a call to a service with `custom` authentication. All their values are masked. */
export type ResolveAuth = (
  auth: ApiAuth & { readonly type: "custom" },
  request: AuthRequest,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>

/** The secrets of all services: looked up when a call is sent, and masked from then on. */
export class Credentials {
  readonly #env: ApiEnv
  readonly #resolveAuth: ResolveAuth | undefined
  readonly #masks: Masks

  constructor(env: ApiEnv, resolveAuth: ResolveAuth | undefined, masks: Masks) {
    this.#env = env
    this.#resolveAuth = resolveAuth
    this.#masks = masks
  }

  /** Learns what is known before any call. A function that throws has no value that could appear anywhere. */
  learn(services: Iterable<CheckedService>): void {
    for (const { name, auth, headers = {} } of services) {
      for (const [header, value] of Object.entries(headers)) this.#learnHeader(name, header, value)
      try {
        this.#headersOf(auth, () => undefined)
      } catch {}
    }
  }

  /** Throws a `ToolError` that names no value. */
  async headers(
    service: CheckedService,
    request: Omit<AuthRequest, "serviceName">,
    variable: (name: string) => string | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    const { auth, name: serviceName } = service
    if (auth.type !== "custom") {
      const headers = this.#headersOf(auth, variable)
      if (!Object.values(headers).every(isHeaderValue)) throw unusable(auth.type)
      return headers
    }
    const headers = await this.#custom(auth, { serviceName, ...request })
    for (const [name, value] of Object.entries(headers)) {
      if (!isHeaderName(name) || !isHeaderValue(value)) throw unusable(auth.id)
      this.#learnHeader(serviceName, name, value)
    }
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  /** True if a name has a value, or a function that may return one. */
  has(name: string, variable: (name: string) => string | undefined): boolean {
    return Object.hasOwn(this.#env, name) || variable(name) !== undefined
  }

  /** A service may echo a part of a header: the token after its scheme, or one field of several. */
  #learnHeader(service: string, name: string, value: string): void {
    // The resolver returns credentials, whatever the header is called.
    if (!isCredential("authorization", value)) return
    const found = Object.values(credentialsOf("", { [name]: value }))
    const [, rest = ""] = /^[A-Za-z][\w-]*\s+(.+)$/.exec(value) ?? []
    const fields = value.split(/[\s,;="]+/).filter(({ length }) => length >= MIN_FIELD_LENGTH)
    for (const part of [value, rest, ...found, ...fields]) this.#masks.add(`${service}/${name}`, part)
  }

  #headersOf(auth: ApiAuth, variable: (name: string) => string | undefined): Readonly<Record<string, string>> {
    switch (auth.type) {
      case "none":
      case "custom":
        return {}
      case "bearer":
        return { authorization: `Bearer ${this.#secret(auth.tokenRef, variable)}` }
      case "header":
        return { [auth.name.toLowerCase()]: this.#secret(auth.valueRef, variable) }
      case "basic": {
        const pair = `${this.#secret(auth.userRef, variable)}:${this.#secret(auth.passRef, variable)}`
        const encoded = bytesToBase64(new TextEncoder().encode(pair))
        this.#masks.add(`${auth.passRef}/pair`, pair)
        this.#masks.add(`${auth.passRef}/basic`, encoded)
        return { authorization: `Basic ${encoded}` }
      }
    }
  }

  #secret(name: string, variable: (name: string) => string | undefined): string {
    const value = (Object.hasOwn(this.#env, name) ? this.#valueOf(name) : variable(name))?.trim()
    if (value === undefined || value === "")
      throw new ToolError("denied", `The secret ${name} of this service is not set.`)
    this.#masks.add(name, value)
    return value
  }

  #valueOf(name: string): string | undefined {
    const given = this.#env[name]
    try {
      const value: unknown = typeof given === "function" ? given() : given
      return typeof value === "string" ? value : undefined
    } catch {
      // Its message may contain the secret.
      throw new ToolError("denied", `The secret ${name} of this service could not be read.`)
    }
  }

  async #custom(auth: ApiAuth & { readonly type: "custom" }, request: AuthRequest) {
    try {
      const headers: unknown = await this.#resolveAuth?.(auth, request)
      if (typeof headers === "object" && headers !== null) return headers as Readonly<Record<string, string>> // Safe: the caller checks each value.
    } catch {
      // Its message may contain the secret.
    }
    throw new ToolError("denied", `The authentication ${auth.id} of this service failed.`)
  }
}

function unusable(name: string): ToolError {
  return new ToolError("denied", `The authentication ${name} of this service cannot be sent as a header.`)
}

const MIN_FIELD_LENGTH = 16
