import type { JsonObject } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import type { CheckedService } from "./service.ts"

/** Where a call goes. */
export interface Target {
  readonly url: URL
  /** Below the base, as it is sent: of all spellings of a path, one. */
  readonly path: string
}

/** Throws a `ToolError` for a path that a server could read as another one, or that the service does not allow. */
export function targetOf(service: CheckedService, path: string, query: JsonObject): Target {
  const plain = canonicalPath(path)
  if (service.paths?.some((pattern) => pattern.test(plain)) === false) {
    throw new ToolError("denied", `${service.name} does not allow the path ${plain}.`)
  }
  const url = new URL(service.base)
  url.pathname = service.basePath + plain
  if (url.origin !== service.base.origin || url.pathname !== service.basePath + plain)
    throw unsafe("cannot be sent as it is")
  for (const [name, value] of Object.entries(query)) addQuery(url, name, value)
  return { url, path: plain }
}

/** Each segment decoded and encoded once; whatever programs read differently is refused. */
function canonicalPath(path: string): string {
  if (path.length > MAX_PATH_LENGTH) throw unsafe(`is longer than ${MAX_PATH_LENGTH} characters`)
  if (!path.startsWith("/")) throw unsafe("does not start with /")
  if (/[\\?#\s\p{Cc}]/u.test(path)) throw unsafe("contains a backslash, a space, ? or #; pass a query as `query`")
  const segments = path.slice(1).split("/")
  // Only the end may be empty.
  if (segments.slice(0, -1).includes("")) throw unsafe("contains //")
  return `/${segments.map(canonicalSegment).join("/")}`
}

function canonicalSegment(segment: string): string {
  const text = decoded(segment)
  // As servers may read it: decoded twice, without parameters after `;`, with look-alike characters replaced.
  const read = text.normalize("NFKC")
  const [name = ""] = read.split(";")
  if (/^\.{1,2}$/.test(name.trim())) throw unsafe("contains . or .. as a segment")
  if (/[/\\\p{Cc}]/u.test(text) || /[/\\]/.test(read))
    throw unsafe("contains an encoded separator or control character")
  if (/%[\da-f]{2}/i.test(read)) throw unsafe("is encoded twice")
  return encodeURIComponent(text).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}

function decoded(segment: string): string {
  try {
    const text = decodeURIComponent(segment)
    encodeURIComponent(text)
    return text
  } catch {
    throw unsafe("contains an invalid escape")
  }
}

function addQuery(url: URL, name: string, value: unknown): void {
  if (methodOverrides.test(name)) throw new ToolError("denied", `The query may not contain ${name}.`)
  for (const each of Array.isArray(value) ? value : [value]) {
    if (each !== null) url.searchParams.append(name, typeof each === "object" ? JSON.stringify(each) : String(each))
  }
}

/** Fields by which some servers take another method than the request's. */
export const methodOverrides = /^_method$|^x[-_]http[-_]method([-_]override)?$|^x[-_]method[-_]override$/i

function unsafe(reason: string): ToolError {
  return new ToolError("invalid_input", `The path ${reason}. Give the plain path below the service's address.`)
}

const MAX_PATH_LENGTH = 2048
