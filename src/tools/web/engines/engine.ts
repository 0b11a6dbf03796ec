import type { FetchedBody, FetchOptions, GuardedFetch } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { type EntityDecoder, loadEntityDecoder } from "../../../lib/html/html-entities.ts"
import { htmlToText } from "../../../lib/html/html-to-text.ts"
import { isJsonObject } from "../../../lib/json.ts"

/** A web search engine. */
export interface SearchEngine {
  /** The display name, shown with the results. */
  readonly name: string
  /** Best results first. Throws a `ToolError` if the request fails or the response is not understood. */
  search(query: string, options: SearchOptions): Promise<readonly SearchResult[]>
}

export interface SearchOptions {
  readonly limit: number
  readonly signal: AbortSignal
  readonly fetch: GuardedFetch
}

export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

/** Common parts of every request to an engine. */
export function requestOptions(signal: AbortSignal, headers: Readonly<Record<string, string>>): FetchOptions {
  return { signal, headers, maxBytes: 2_000_000, timeoutMs: 20_000 }
}

/** The parsed response of an engine's API, if valid. */
export function readJsonAnswer(engine: string, answer: FetchedBody): Readonly<Record<string, unknown>> {
  requireSuccess(engine, answer)
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(answer.bytes))
    if (isJsonObject(value)) return value
  } catch {
    // Reported below, without the parser's quotes.
  }
  throw notUnderstood(engine)
}

export function requireSuccess(engine: string, { status }: FetchedBody): void {
  if (status >= 200 && status < 300) return
  const why =
    status === 401 || status === 403
      ? ": it rejects the key or the request"
      : status === 429
        ? ": rate limit exceeded"
        : ""
  throw new ToolError("io", `${engine} responded with status ${status}${why}. The search was not done.`)
}

export function notUnderstood(engine: string): ToolError {
  return new ToolError("io", `The response of ${engine} was not understood. The search was not done.`)
}

/** Entries without a URL are dropped; if the list is missing, the response was not understood. */
export async function readResults(engine: string, list: unknown, snippetKey: string): Promise<readonly SearchResult[]> {
  if (!Array.isArray(list)) throw notUnderstood(engine)
  const decode = await loadEntityDecoder()
  return list.flatMap((entry: unknown) => {
    if (!isJsonObject(entry) || typeof entry.url !== "string") return []
    return [{ title: plain(entry.title, decode), url: entry.url, snippet: plain(entry[snippetKey], decode) }]
  })
}

/** Some engines mark matching words with tags. */
function plain(value: unknown, decode: EntityDecoder): string {
  return typeof value === "string" ? htmlToText(value, decode, { maxCharacters: 2000 }).text : ""
}

/** The address of an engine's server, without a trailing slash. */
export function readBaseUrl(engine: string, baseUrl: string): string {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return baseUrl.replace(/\/+$/, "")
  throw new LonghaulError("config_invalid", `The baseUrl of ${engine} is not an http(s) URL.`, {
    fix: 'Use "https://host" or "https://host/path".',
  })
}

export function readApiKey(engine: string, apiKey: string): string {
  if (typeof apiKey === "string" && apiKey.trim() !== "") return apiKey.trim()
  throw new LonghaulError("config_invalid", `${engine} needs an API key.`, { fix: "Pass it as `apiKey`." })
}
