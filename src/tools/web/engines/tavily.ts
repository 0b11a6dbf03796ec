import { checkShape, required } from "../../../lib/schema/shape.ts"
import { readApiKey, readBaseUrl, readJsonAnswer, readResults, requestOptions, type SearchEngine } from "./engine.ts"

export interface TavilyOptions {
  readonly apiKey: string
  /** Default: Tavily's own server. */
  readonly baseUrl?: string
}

/** Searches with the Tavily API, for `webSearchTool`. */
export function tavily(options: TavilyOptions): SearchEngine {
  checkShape<TavilyOptions>("tavily", options, { apiKey: required("text"), baseUrl: "text" })
  const { apiKey, baseUrl = "https://api.tavily.com" } = options
  const key = readApiKey(name, apiKey)
  const base = readBaseUrl(name, baseUrl)
  return {
    name,
    async search(query, { limit, signal, fetch }) {
      const headers = { accept: "application/json", "content-type": "application/json", authorization: `Bearer ${key}` }
      const body = JSON.stringify({ query, max_results: limit })
      const answer = await fetch.post(`${base}/search`, body, requestOptions(signal, headers))
      return (await readResults(name, readJsonAnswer(name, answer).results, "content")).slice(0, limit)
    },
  }
}

const name = "Tavily"
