import type { Json } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { utf8Length } from "../../lib/truncate.ts"
import type { ApiMethod } from "./method.ts"
import type { CheckedService } from "./service.ts"
import { methodOverrides } from "./target.ts"

export interface RequestBody {
  readonly text: string
  readonly contentType: string
}

/** Throws a `ToolError` before anything is sent. */
export function requestBody(
  service: CheckedService,
  method: ApiMethod,
  body: Json | undefined,
  givenType: string | undefined,
): RequestBody | undefined {
  if (body === undefined) return undefined
  if (method === "GET" || method === "HEAD") throw new ToolError("invalid_input", `A ${method} request has no body.`)
  const made = service.bodyEncoding === "raw" ? rawBody(service, body, givenType) : jsonBody(body, givenType)
  const size = utf8Length(made.text)
  if (size > service.maxBodyBytes) {
    const message = `The body has ${size} bytes, and ${service.name} takes at most ${service.maxBodyBytes}.`
    throw new ToolError("invalid_input", message)
  }
  return made
}

function rawBody({ name }: CheckedService, body: Json, contentType = "text/plain; charset=utf-8"): RequestBody {
  if (typeof body !== "string") {
    throw new ToolError("invalid_input", `${name} takes its body as a text: pass it as a string.`)
  }
  const isForm = /^application\/x-www-form-urlencoded/i.test(contentType)
  if (isForm) refuseOverride([...new URLSearchParams(body).keys()])
  return { text: body, contentType }
}

function jsonBody(body: Json, givenType: string | undefined): RequestBody {
  if (isJsonObject(body)) refuseOverride(Object.keys(body))
  const isJson = givenType !== undefined && /^application\/(?:[\w.-]+\+)?json\b/i.test(givenType)
  return { text: JSON.stringify(body), contentType: isJson ? givenType : "application/json" }
}

/** Some servers take another method from the body. */
function refuseOverride(names: readonly string[]): void {
  const name = names.find((each) => methodOverrides.test(each.trim()))
  if (name !== undefined) throw new ToolError("denied", `The body may not contain ${name.slice(0, 80)}.`)
}
