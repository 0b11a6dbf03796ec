import { type EntityDecoder, loadEntityDecoder } from "../../../lib/html/html-entities.ts"
import { type HtmlToken, htmlTokens } from "../../../lib/html/html-tokens.ts"
import { checkShape } from "../../../lib/schema/shape.ts"
import {
  notUnderstood,
  readBaseUrl,
  requestOptions,
  requireSuccess,
  type SearchEngine,
  type SearchResult,
} from "./engine.ts"

export interface DuckDuckGoOptions {
  /** Default: its page without scripts. */
  readonly baseUrl?: string
}

/** Needs no key. Parses a page made for people, so it breaks when that changes, and frequent use is blocked. */
export function duckDuckGo(options: DuckDuckGoOptions = {}): SearchEngine {
  checkShape<DuckDuckGoOptions>("duckDuckGo", options, { baseUrl: "text" })
  const { baseUrl = "https://html.duckduckgo.com" } = options
  const base = readBaseUrl(name, baseUrl)
  return {
    name,
    async search(query, { limit, signal, fetch }) {
      const url = `${base}/html/?q=${encodeURIComponent(query)}`
      const answer = await fetch.get(url, requestOptions(signal, { accept: "text/html" }))
      requireSuccess(name, answer)
      const html = new TextDecoder().decode(answer.bytes)
      const results = readPage(html, await loadEntityDecoder())
      // Its marker for an empty result page: without it, the page is something else, such as a captcha.
      if (results.length === 0 && !/class="[^"]{0,200}\bno-results\b/.test(html)) throw notUnderstood(name)
      return results.slice(0, limit)
    },
  }
}

const name = "DuckDuckGo"

/** A result is a link with one class, followed by an element with another. */
function readPage(html: string, decode: EntityDecoder): readonly SearchResult[] {
  const results: SearchResult[] = []
  const tokens = htmlTokens(html, decode)
  for (const token of tokens) {
    if (token.kind !== "start") continue
    const classes = token.attributes.class?.split(/\s+/) ?? []
    const last = results.at(-1)
    if (token.name === "a" && classes.includes("result__a")) {
      results.push({ title: textUntilEnd(tokens, token), url: realAddress(token.attributes.href ?? ""), snippet: "" })
    } else if (classes.includes("result__snippet") && last?.snippet === "") {
      results[results.length - 1] = { ...last, snippet: textUntilEnd(tokens, token) }
    }
  }
  return results.filter(({ url }) => url !== "")
}

function textUntilEnd(tokens: Iterator<HtmlToken, void>, { name }: { readonly name: string }): string {
  let text = ""
  for (let next = tokens.next(); !next.done; next = tokens.next()) {
    if (next.value.kind === "end" && next.value.name === name) break
    if (next.value.kind === "text" && text.length < longestText) text += next.value.text
  }
  return text
}

const longestText = 2000

/** Links go through a click counter with the URL in its query. Empty: an advertisement, or no URL. */
function realAddress(href: string): string {
  const base = "https://duckduckgo.com"
  if (!URL.canParse(href, base)) return ""
  const link = new URL(href, base)
  if (link.hostname !== "duckduckgo.com" && !link.hostname.endsWith(".duckduckgo.com")) return link.href
  return link.pathname === "/l/" ? (link.searchParams.get("uddg") ?? "") : ""
}
