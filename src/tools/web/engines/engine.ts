import type { FetchedBody, FetchOptions, GuardedFetch } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { type EntityDecoder, loadEntityDecoder } from "../html-entities.ts"
import { htmlToText } from "../html-to-text.ts"

/** Who is asked when the web is searched. */
export interface SearchEngine {
  /** As people know it: it is shown with the results. */
  readonly name: string
  /** The best results first. Throws a `ToolError` where it cannot be asked or understood. */
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

/** What every request to an engine has in common. */
export function requestOptions(signal: AbortSignal, headers: Readonly<Record<string, string>>): FetchOptions {
  return { signal, headers, maxBytes: 2_000_000, timeoutMs: 20_000 }
}

/** An answer of an engine's API, if it is one. */
export function readJsonAnswer(engine: string, answer: FetchedBody): Readonly<Record<string, unknown>> {
  requireSuccess(engine, answer)
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(answer.bytes))
    if (isJsonObject(value)) return value
  } catch {
    // Told below, without what the parser quotes.
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

/** Entries without an address are left out; a list that is none means that the answer was not understood. */
export async function readResults(engine: string, list: unknown, snippetKey: string): Promise<readonly SearchResult[]> {
  if (!Array.isArray(list)) throw notUnderstood(engine)
  const decode = await loadEntityDecoder()
  return list.flatMap((entry: unknown) => {
    if (!isJsonObject(entry) || typeof entry.url !== "string") return []
    return [{ title: plain(entry.title, decode), url: entry.url, snippet: plain(entry[snippetKey], decode) }]
  })
}

/** Some engines mark the words that were found with tags. */
function plain(value: unknown, decode: EntityDecoder): string {
  return typeof value === "string" ? htmlToText(value, decode, { maxCharacters: 2000 }).text : ""
}

/** The address of an engine's server, without a slash at its end. */
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
