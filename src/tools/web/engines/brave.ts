import { isJsonObject } from "../../../lib/json.ts"
import { checkShape, required } from "../../../lib/schema/shape.ts"
import {
  notUnderstood,
  readApiKey,
  readBaseUrl,
  readJsonAnswer,
  readResults,
  requestOptions,
  type SearchEngine,
} from "./engine.ts"

export interface BraveOptions {
  readonly apiKey: string
  /** Default: Brave's own server. */
  readonly baseUrl?: string
}

/** Searches with the Brave Search API, for `webSearchTool`. */
export function brave(options: BraveOptions): SearchEngine {
  checkShape<BraveOptions>("brave", options, { apiKey: required("text"), baseUrl: "text" })
  const { apiKey, baseUrl = "https://api.search.brave.com" } = options
  const key = readApiKey(name, apiKey)
  const base = readBaseUrl(name, baseUrl)
  return {
    name,
    async search(query, { limit, signal, fetch }) {
      const url = `${base}/res/v1/web/search?q=${encodeURIComponent(query)}&count=${Math.min(limit, 20)}`
      const headers = { accept: "application/json", "x-subscription-token": key }
      const answer = readJsonAnswer(name, await fetch.get(url, requestOptions(signal, headers)))
      // If nothing was found, the web section is absent.
      if (answer.web === undefined && answer.type === "search") return []
      if (!isJsonObject(answer.web)) throw notUnderstood(name)
      return (await readResults(name, answer.web.results, "description")).slice(0, limit)
    },
  }
}

const name = "Brave"
