import type { Effect } from "../../contract/tool.ts"
import { configInvalid } from "../../lib/failures.ts"
import { isPrivateHost } from "../../lib/http/target-host.ts"
import { checkKeys, wholeNumber } from "../../lib/known-keys.ts"
import { textsByName } from "../../lib/schema/contract-shapes.ts"
import { listOf, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import { checkedHeaderName, isHeaderValue } from "./header-syntax.ts"
import { type ApiMethod, methods } from "./method.ts"
import { type Operation, operationShape } from "./open-api/operation.ts"

/** How a service is authenticated to. A `Ref` is the name of a secret, never its value. */
export type ApiAuth =
  | { readonly type: "none" }
  | { readonly type: "bearer"; readonly tokenRef: string }
  | { readonly type: "header"; readonly name: string; readonly valueRef: string }
  | { readonly type: "basic"; readonly userRef: string; readonly passRef: string }
  /** `resolveAuth` returns the headers. */
  | { readonly type: "custom"; readonly id: string }

/** A service that a model may call. */
export interface ApiService {
  /** `http` or `https`, with or without a path. Calls stay below it. */
  readonly baseUrl: string
  /** For the model. */
  readonly description?: string
  /** Default `none`. */
  readonly auth?: ApiAuth
  /** Default: `GET` and `HEAD`. */
  readonly allowedMethods?: readonly ApiMethod[]
  /** Each is matched against the whole path below `baseUrl`, without the query. Default: every path. */
  readonly allowedPaths?: readonly RegExp[]
  /** Default 256 KB. */
  readonly maxBodyBytes?: number
  /** The rest of a longer response is not read. Default 256 KB. */
  readonly maxResponseBytes?: number
  /** `raw`: the body is a text that is sent unchanged. Default `json`. */
  readonly bodyEncoding?: "json" | "raw"
  /** The header by which the service recognises a repeated request, for example `Idempotency-Key`. */
  readonly idempotencyHeader?: string
  /** Sent with each call. */
  readonly headers?: Readonly<Record<string, string>>
  /** The host's name may resolve to an address of a private network. Default: only if `baseUrl` visibly names one. */
  readonly allowPrivate?: boolean
  /** For one call, with its whole response. Default 30 s. */
  readonly timeoutMs?: number
  /** Set by `openApiService`: only these calls are possible. */
  readonly operations?: readonly Operation[]
}

/** Services by name. */
export type ApiServices = Readonly<Record<string, ApiService>>

/** A service whose settings were checked. */
export interface CheckedService extends ApiService {
  readonly name: string
  readonly base: URL
  /** The path of the base without a slash at its end. */
  readonly basePath: string
  readonly auth: ApiAuth
  readonly allowedMethods: readonly ApiMethod[]
  /** Compiled for whole paths. Undefined: every path. */
  readonly paths: readonly RegExp[] | undefined
  readonly maxBodyBytes: number
  readonly maxResponseBytes: number
  readonly timeoutMs: number
  readonly allowPrivate: boolean
}

/** The effect of a method; a service that recognises repeated requests makes every one repeatable. */
export function effectOfMethod(
  method: ApiMethod,
  { idempotencyHeader }: Pick<ApiService, "idempotencyHeader">,
): Effect {
  if (method === "GET" || method === "HEAD") return "none"
  return method === "PUT" || method === "DELETE" || idempotencyHeader !== undefined ? "repeatable" : "once"
}

export function checkedService(name: string, service: ApiService): CheckedService {
  const where = `services.${name}`
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw configInvalid(
      `services has the name ${JSON.stringify(name.slice(0, 80))}.`,
      "Use letters, digits, `_` and `-`.",
    )
  }
  const { allowedMethods = ["GET", "HEAD"], allowedPaths, idempotencyHeader, headers = {}, auth = none } = service
  if (idempotencyHeader !== undefined) checkedHeaderName(`${where}.idempotencyHeader`, idempotencyHeader)
  for (const [header, value] of Object.entries(headers)) {
    checkedHeaderName(`${where}.headers`, header)
    if (!isHeaderValue(value))
      throw configInvalid(`${where}.headers.${header} is not a header's value.`, "Use one line of text.")
  }
  checkAuth(where, auth)
  const base = baseOf(where, service.baseUrl)
  return {
    ...service,
    name,
    base,
    basePath: base.pathname.replace(/\/$/, ""),
    auth,
    allowedMethods,
    paths: allowedPaths?.map((pattern) => wholePattern(where, pattern)),
    maxBodyBytes: wholeNumber(`${where}.maxBodyBytes`, service.maxBodyBytes ?? DEFAULT_BYTES),
    maxResponseBytes: wholeNumber(`${where}.maxResponseBytes`, service.maxResponseBytes ?? DEFAULT_BYTES),
    timeoutMs: wholeNumber(`${where}.timeoutMs`, service.timeoutMs ?? 30_000),
    // A private address in the settings is intended. A public name that resolves to one may be an attack.
    allowPrivate: service.allowPrivate ?? isPrivateHost(base),
  }
}

function checkAuth(where: string, auth: ApiAuth): void {
  // Plain JavaScript may pass any text here.
  const known = authKeys[auth.type]
  if (known === undefined) {
    throw configInvalid(`${where}.auth.type is unknown.`, `Use one of: ${Object.keys(authKeys).join(", ")}.`)
  }
  checkKeys(`${where}.auth`, auth, ["type", ...known])
  for (const key of known) {
    const value: unknown = Object(auth)[key]
    if (typeof value !== "string" || value === "")
      throw configInvalid(`${where}.auth has no ${key}.`, `Set ${key} to a text.`)
  }
  if (auth.type === "header") checkedHeaderName(`${where}.auth.name`, auth.name)
}

function baseOf(where: string, baseUrl: string): URL {
  const fix = "Use an address such as https://api.example.com/v1, without a user, a query or a fragment."
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) throw configInvalid(`${where}.baseUrl is not a URL.`, fix)
  const base = new URL(baseUrl)
  const isPlain = base.username + base.password + base.search + base.hash === ""
  if (!isPlain || !/^https?:$/.test(base.protocol))
    throw configInvalid(`${where}.baseUrl is not a plain web address.`, fix)
  return base
}

/** Matches whole paths, whatever its anchors, and keeps no state between calls. */
function wholePattern(where: string, pattern: unknown): RegExp {
  if (!(pattern instanceof RegExp)) {
    throw configInvalid(
      `${where}.allowedPaths has an entry that is not a regular expression.`,
      "Write it as /^\\/widgets$/.",
    )
  }
  return new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gymd]/g, ""))
}

const none: ApiAuth = { type: "none" }
const DEFAULT_BYTES = 256 * 1024

const authKeys: Readonly<Record<ApiAuth["type"], readonly string[]>> = {
  none: [],
  bearer: ["tokenRef"],
  header: ["name", "valueRef"],
  basic: ["userRef", "passRef"],
  custom: ["id"],
}

/** The settings that also describe a service of a document. */
export const settingsShape = {
  description: "text",
  // Its members depend on its type, and are checked below.
  auth: "object",
  maxBodyBytes: "number",
  maxResponseBytes: "number",
  bodyEncoding: words("json", "raw"),
  idempotencyHeader: "text",
  headers: textsByName,
  allowPrivate: "boolean",
  timeoutMs: "number",
} as const

export const serviceShape: Shape<ApiService> = {
  ...settingsShape,
  baseUrl: required("text"),
  allowedMethods: listOf(words(...methods)),
  allowedPaths: listOf("any"),
  operations: listOf(shapeOf<Operation>(operationShape)),
}
