import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ExtensionRun, OpenedExtension } from "../../contract/extension.ts"
import { checkShape, recordOf, required, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import { Masks } from "../../lib/text/masks.ts"
import type { ApiCalls, ApiObservers } from "./call.ts"
import { type ApiEnv, Credentials, type ResolveAuth } from "./credentials.ts"
import { operationTools } from "./open-api/operation-tools.ts"
import { apiSearch } from "./open-api/search.ts"
import { type ApiService, type ApiServices, type CheckedService, checkedService, serviceShape } from "./service.ts"
import { apiCall } from "./tool.ts"

export interface ApiOptions extends ApiObservers {
  /** Without services there is no tool. */
  readonly services: ApiServices
  /** The secrets that services refer to. Others are variables of the host. */
  readonly env?: ApiEnv
  /** Called for each call to a service with `custom` authentication. */
  readonly resolveAuth?: ResolveAuth
  /** Sends requests instead of the environment's guarded ones, for example through a proxy. It must not follow redirects. */
  readonly fetch?: typeof fetch
  /** Default `api`. */
  readonly name?: string
}

/** The tool ApiCall, for web services that you name. */
export function api(options: ApiOptions): Extension {
  checkShape<ApiOptions>("api", options, optionsShape)
  const services = new Map(
    Object.entries(options.services).map(([name, service]) => [name, checkedService(name, service)]),
  )
  requireResolver(services, options.resolveAuth)
  const masks = new Masks()
  const credentials = new Credentials(options.env ?? {}, options.resolveAuth, masks)
  return {
    name: options.name ?? "api",
    credentials() {
      credentials.learn(services.values())
      return masks.values()
    },
    open: (run) => open(run, { services, credentials, masks, options }),
  }
}

interface Settled extends Pick<ApiCalls, "services" | "credentials" | "masks"> {
  readonly options: ApiOptions
}

function open(run: ExtensionRun, { services, credentials, masks, options }: Settled): OpenedExtension {
  if (services.size === 0) return {}
  const { onRequest, onResponse, fetch } = options
  const { host } = run
  const shared = { services, credentials, masks, host, fetch }
  const calls: ApiCalls = { ...shared, onRequest, onResponse }
  for (const { name, auth } of services.values()) {
    const missing = refsOf(auth).filter((ref) => !credentials.has(ref, (each) => host.variable?.(each)))
    if (missing.length > 0)
      run.warn("api_secret_missing", `The service ${name} needs ${missing.join(" and ")}, which is not set.`)
  }
  for (const { name, operations = [] } of services.values()) {
    const unchecked = new Set(operations.flatMap((operation) => operation.unchecked))
    if (unchecked.size === 0) continue
    const patterns = [...unchecked].map((pattern) => JSON.stringify(pattern.slice(0, 100))).join(", ")
    const message = `The document of the service ${name} has patterns that cannot be checked in linear time, and are not checked: ${patterns}.`
    run.warn("api_pattern_unchecked", message)
  }
  const searched = [...services.values()].filter(({ operations }) => operations !== undefined)
  return {
    tools: [apiCall(calls), ...(searched.length > 0 ? [apiSearch(searched)] : []), ...operationTools(calls, searched)],
  }
}

function refsOf(auth: CheckedService["auth"]): readonly string[] {
  return Object.entries(auth).flatMap(([key, value]) => (key.endsWith("Ref") ? [value] : []))
}

function requireResolver(services: ReadonlyMap<string, CheckedService>, resolveAuth: ResolveAuth | undefined): void {
  const custom = [...services.values()].find(({ auth }) => auth.type === "custom")
  if (custom === undefined || resolveAuth !== undefined) return
  throw new LonghaulError(
    "config_invalid",
    `The service ${custom.name} has custom authentication without resolveAuth.`,
    {
      fix: "Pass resolveAuth to api().",
    },
  )
}

const optionsShape: Shape<ApiOptions> = {
  services: required(recordOf(shapeOf<ApiService>(serviceShape))),
  env: recordOf(["text", "function"]),
  resolveAuth: "function",
  fetch: "function",
  name: "text",
  onRequest: "function",
  onResponse: "function",
}

export type { ApiCallSeen, ApiObservers, ApiResponseSeen } from "./call.ts"
export type { ApiEnv, AuthRequest, ResolveAuth } from "./credentials.ts"
export type { ApiMethod } from "./method.ts"
export type { Operation, OperationParameter } from "./open-api/operation.ts"
export { type OpenApiOptions, openApiService } from "./open-api/service.ts"
export type { ApiAuth, ApiService, ApiServices } from "./service.ts"
