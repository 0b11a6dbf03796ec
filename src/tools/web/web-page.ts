import type { FetchedBody } from "../../contract/env.ts"
import { loadEntityDecoder } from "../../lib/html/html-entities.ts"
import { htmlToText } from "../../lib/html/html-to-text.ts"
import { type Redact, withoutHalfWord } from "../../lib/text/before-cut.ts"
import { latin1, sniffEncoding } from "../../lib/text-file.ts"

/** The readable content of a response. */
export interface WebPage {
  /** Origin, type and omissions: lines to put before the text. */
  readonly head: string
  readonly text: string
}

/** `redact`: applied to all of it, since it will be shown in parts. */
export async function toWebPage(answer: FetchedBody, redact: Redact): Promise<WebPage> {
  const { url, status, contentType, bytes, truncated } = answer
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase() || "no content type"
  const size = `${truncated ? "more than " : ""}${bytes.length} bytes`
  const lines = [`${url} (status ${status}, ${type}, ${size})`]
  const kind = kindOf(type, bytes)
  if (kind === "other") return { head: [...lines, "This is not text, so it is not shown."].join("\n"), text: "" }
  if (truncated) lines.push(`Only the first ${bytes.length} bytes were read.`)
  const decoded = decode(bytes, contentType, kind)
  const source = redact(truncated ? withoutHalfWord(decoded) : decoded)
  if (kind === "text") return { head: lines.join("\n"), text: source }
  const page = htmlToText(source, await loadEntityDecoder(), { url, maxCharacters: maxPageCharacters })
  if (page.title !== "") lines.push(`Title: ${page.title}`)
  if (page.truncated) lines.push(`Only the first ${maxPageCharacters} characters were kept.`)
  // Once more: a secret may have been divided by tags.
  return { head: lines.join("\n"), text: redact(page.text) }
}

const maxPageCharacters = 1_000_000

const textTypes =
  /^text\/|^application\/(?:json|ld\+json|xml|javascript|ecmascript|x-javascript|typescript|yaml|x-yaml|toml|x-ndjson|jsonl|x-sh|sql|graphql|rtf)$|\+(?:json|xml|yaml)$/

function kindOf(type: string, bytes: Uint8Array): "html" | "text" | "other" {
  if (type === "text/html" || type === "application/xhtml+xml") return "html"
  if (textTypes.test(type)) return "text"
  if (type !== "no content type" || sniffEncoding(bytes) === undefined) return "other"
  return /^\s*<(?:!doctype html|html)[\s>]/i.test(latin1(bytes.subarray(0, 200))) ? "html" : "text"
}

/** By the byte order mark, the header, the page's meta tag, or a guess. */
function decode(bytes: Uint8Array, contentType: string, kind: "html" | "text"): string {
  const sniffed = sniffEncoding(bytes.subarray(0, 64 * 1024)) ?? "utf-8"
  const isMarked = sniffed === "utf-16le" || sniffed === "utf-16be"
  const named =
    /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType) ??
    (kind === "html" ? /<meta[^>]{0,200}?charset\s*=\s*["']?([\w:.-]+)/i.exec(latin1(bytes.subarray(0, 2048))) : null)
  const label = isMarked || named === null ? sniffed : (named[1] ?? sniffed)
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    // An unknown encoding name.
    return new TextDecoder(sniffed).decode(bytes)
  }
}
