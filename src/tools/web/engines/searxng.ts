import { checkShape, required } from "../../../lib/schema/shape.ts"
import { readBaseUrl, readJsonAnswer, readResults, requestOptions, type SearchEngine } from "./engine.ts"

export interface SearxngOptions {
  /** Its `settings.yml` must list `json` under `search.formats`. */
  readonly baseUrl: string
}

/** A self-hosted search engine. In a private network, the environment's fetch must allow its host. */
export function searxng(options: SearxngOptions): SearchEngine {
  checkShape<SearxngOptions>("searxng", options, { baseUrl: required("text") })
  const { baseUrl } = options
  const base = readBaseUrl(name, baseUrl)
  return {
    name,
    async search(query, { limit, signal, fetch }) {
      const url = `${base}/search?q=${encodeURIComponent(query)}&format=json`
      const answer = await fetch.get(url, requestOptions(signal, { accept: "application/json" }))
      return (await readResults(name, readJsonAnswer(name, answer).results, "content")).slice(0, limit)
    },
  }
}

const name = "SearXNG"
