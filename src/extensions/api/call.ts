import type { ExtensionRun } from "../../contract/extension.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { type Effect, type InnerCall, type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { contain } from "../../lib/contained.ts"
import { isJsonObject } from "../../lib/json.ts"
import { redactOf, withoutHalfWord } from "../../lib/text/before-cut.ts"
import type { Masks } from "../../lib/text/masks.ts"
import type { Credentials } from "./credentials.ts"
import { comparedName } from "./header-syntax.ts"
import { modelHeaders } from "./headers.ts"
import { type ApiMethod, methods } from "./method.ts"
import { checkOperation } from "./open-api/check-operation.ts"
import { requestBody } from "./request-body.ts"
import { resultOf } from "./result.ts"
import { send } from "./send.ts"
import { type CheckedService, effectOfMethod } from "./service.ts"
import { type Target, targetOf } from "./target.ts"

/** A call, for an observer. It contains no secret. */
export interface ApiCallSeen {
  readonly service: string
  readonly method: string
  /** Without the query. */
  readonly path: string
}

export interface ApiResponseSeen extends ApiCallSeen {
  /** Null: there was no response. */
  readonly status: number | null
  readonly latencyMs: number
  /** The bytes of the response that were read. */
  readonly bytesIn: number
}

export interface ApiObservers {
  readonly onRequest?: ((call: ApiCallSeen) => void) | undefined
  readonly onResponse?: ((response: ApiResponseSeen) => void) | undefined
}

/** The parts that all calls of a run have in common. */
export interface ApiCalls extends ApiObservers {
  readonly services: ReadonlyMap<string, CheckedService>
  readonly credentials: Credentials
  readonly masks: Masks
  readonly host: ExtensionRun["host"]
  readonly fetch: typeof fetch | undefined
}

/** The arguments of ApiCall. */
interface ApiArgs {
  readonly service: CheckedService
  readonly method: ApiMethod
  readonly path: string
  readonly query: JsonObject
  readonly headers: JsonObject
  readonly body: Json | undefined
}

/** The strictest effect first. */
const strictest: readonly Effect[] = ["once", "repeatable", "none"]

export function effectAmong(services: Iterable<CheckedService>): Effect {
  const effects = [...services].flatMap((service) =>
    service.allowedMethods.map((method) => effectOfMethod(method, service)),
  )
  return strictest.find((effect) => effects.includes(effect)) ?? "none"
}

/** The effect of a call with these arguments. A method that its service does not allow is never sent. */
export function effectOfArgs(services: ReadonlyMap<string, CheckedService>, args: Json): Effect {
  const { service, method } = readArgs(services, args)
  return service.allowedMethods.includes(method) ? effectOfMethod(method, service) : "none"
}

/**
 * A call as policies see it: with its address, which no argument has. `call`: the arguments of ApiCall that it amounts to. A
 * policy cannot change what follows from the arguments: the changed value is passed on under a name that no tool takes.
 */
export function seenByPolicy(services: ApiCalls["services"], tool: Tool, args: Json, call?: JsonObject): InnerCall {
  const { service, method, path, query } = readArgs(services, call ?? args)
  const { url } = targetOf(service, path, query)
  const own = isJsonObject(args) ? args : {}
  const following: JsonObject = { ...(call && { service: service.name, method, path }), url: url.href }
  return {
    tool,
    args: { ...own, ...following },
    outer(changed) {
      if (!isJsonObject(changed)) return changed
      const entries = Object.entries(changed).flatMap(([name, value]): [string, Json][] => {
        if (!Object.hasOwn(following, name)) return [[name, value]]
        if (value !== following[name]) return [[`changed ${name}`, value]]
        const given = Object.hasOwn(own, name) ? own[name] : undefined
        return given === undefined ? [] : [[name, given]]
      })
      return Object.fromEntries(entries)
    },
  }
}

/** Makes one call. Everything is checked before a secret is looked up. */
export async function callApi(calls: ApiCalls, args: Json, context: ToolContext): Promise<string> {
  const { credentials, masks, host } = calls
  const given = readArgs(calls.services, args)
  const { service, method } = given
  if (!service.allowedMethods.includes(method)) {
    throw new ToolError("denied", `${service.name} allows ${service.allowedMethods.join(", ")}, not ${method}.`)
  }
  const target = targetOf(service, given.path, given.query)
  const { sent, dropped } = modelHeaders(service, given.headers)
  const body = requestBody(service, method, given.body, sent["content-type"])
  await checkOperation(service, { ...given, path: target.path })
  const variable = (name: string) => host.variable?.(name)
  const own = await credentials.headers(service, { method, path: target.path }, variable)
  const headers = joined(
    without(sent, "content-type"),
    body && { "content-type": body.contentType },
    service.headers,
    service.idempotencyHeader && { [service.idempotencyHeader]: context.idempotencyKey },
    own,
  )
  const effect = effectOfMethod(method, service)
  const response = await observed(calls, given, target, () =>
    send(
      {
        service: service.name,
        url: target.url,
        method,
        headers,
        body: body?.text,
        effect,
        allowPrivate: service.allowPrivate,
        maxBytes: service.maxResponseBytes,
        timeoutMs: service.timeoutMs,
        signal: context.signal,
      },
      { fetch: calls.fetch, guarded: context.env.fetch },
    ),
  )
  const redact = redactOf(context)
  const mask = (text: string, isCut: boolean) => (isCut ? redact(masks.cut(withoutHalfWord(text))) : masks.text(text))
  return resultOf(response, {
    service: service.name,
    effect,
    maxBytes: service.maxResponseBytes,
    dropped,
    mask,
    redact,
  })
}

/** Throws a `ToolError` for arguments of no call. */
function readArgs(services: ReadonlyMap<string, CheckedService>, args: Json): ApiArgs {
  const { service: name, method: given, path, query = {}, headers = {}, body } = isJsonObject(args) ? args : {}
  const service = services.get(String(name))
  const method = methods.find((each) => each === given)
  if (service === undefined) throw new ToolError("not_found", `There is no service ${JSON.stringify(name)}.`)
  if (method === undefined || typeof path !== "string" || !isJsonObject(query) || !isJsonObject(headers)) {
    throw new ToolError("invalid_input", "A call needs a method and a path; query and headers are objects.")
  }
  return { service, method, path, query, headers, body }
}

/** Calls the observers, whose failures do not affect the call. */
async function observed<Response extends { readonly status: number; readonly bytes: Uint8Array }>(
  { masks, onRequest, onResponse }: ApiCalls,
  { service, method }: ApiArgs,
  target: Target,
  work: () => Promise<Response>,
): Promise<Response> {
  const call: ApiCallSeen = { service: service.name, method, path: masks.text(target.path) }
  const started = performance.now()
  const ended = (status: number | null, bytesIn: number) => {
    const latencyMs = Math.round(performance.now() - started)
    contain(() => onResponse?.({ ...call, status, latencyMs, bytesIn }))
  }
  contain(() => onRequest?.(call))
  try {
    const response = await work()
    ended(response.status, response.bytes.length)
    return response
  } catch (error) {
    ended(null, 0)
    throw error
  }
}

/** By lower-case name; later ones replace earlier ones, however a server reads their names. */
function joined(
  ...parts: readonly (Readonly<Record<string, string>> | undefined | "")[]
): Readonly<Record<string, string>> {
  const headers = new Map<string, readonly [string, string]>()
  for (const part of parts) {
    for (const [name, value] of Object.entries(part || {})) headers.set(comparedName(name), [name.toLowerCase(), value])
  }
  return Object.fromEntries(headers.values())
}

function without(headers: Readonly<Record<string, string>>, dropped: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== dropped))
}
