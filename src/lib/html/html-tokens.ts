import type { EntityDecoder } from "./html-entities.ts"

export type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "start"; readonly name: string; readonly attributes: HtmlAttributes }
  | { readonly kind: "end"; readonly name: string }

/** Only the attributes that are needed. */
export type HtmlAttributes = Readonly<Partial<Record<"href" | "alt" | "class", string>>>

/**
 * Tags and texts of a page in order, without a tree: unclosed or wrongly nested elements are kept as they are. Scripts,
 * styles and comments are dropped. Takes linear time on any input.
 */
export function* htmlTokens(html: string, decode: EntityDecoder): Generator<HtmlToken, void, undefined> {
  const unclosed = new Set<string>()
  let textFrom = 0
  for (let at = html.indexOf("<"); at !== -1; at = html.indexOf("<", at)) {
    const next = html.charCodeAt(at + 1)
    const isMarkup = isLetter(next) || next === slash || next === exclamation || next === question
    if (!isMarkup) {
      at++
      continue
    }
    if (at > textFrom) yield { kind: "text", text: decode.text(html.slice(textFrom, at)) }
    if (isLetter(next)) {
      const tag = readTag(html, at + 1, decode)
      yield { kind: "start", name: tag.name, attributes: tag.attributes }
      at = tag.end
      const end = endOfRawContent(html, tag.name, at, unclosed)
      if (tag.name === "title" && end > at) yield { kind: "text", text: decode.text(html.slice(at, end)) }
      at = end
    } else if (next === slash && isLetter(html.charCodeAt(at + 2))) {
      const tag = readTag(html, at + 2, decode)
      yield { kind: "end", name: tag.name }
      at = tag.end
    } else {
      at = afterComment(html, at)
    }
    textFrom = at
  }
  if (textFrom < html.length) yield { kind: "text", text: decode.text(html.slice(textFrom)) }
}

const slash = 0x2f
const exclamation = 0x21
const question = 0x3f

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
}

interface Tag {
  readonly name: string
  readonly attributes: HtmlAttributes
  readonly end: number
}

/** `at`: start of the name. `end`: after the ">", or the end of the page. */
function readTag(html: string, at: number, decode: EntityDecoder): Tag {
  tagName.lastIndex = at
  const [name = ""] = tagName.exec(html) ?? []
  const attributes: { -readonly [Name in keyof HtmlAttributes]: HtmlAttributes[Name] } = {}
  let end = at + name.length
  for (;;) {
    attribute.lastIndex = end
    const match = attribute.exec(html)
    if (match === null) break
    end = attribute.lastIndex
    const [, written = "", double, single, bare] = match
    const key = written.length <= longestKey ? written.toLowerCase() : ""
    const isKept = key === "href" || key === "alt" || key === "class"
    // The first one wins.
    if (isKept) attributes[key] ??= decode.attribute(double ?? single ?? bare ?? "")
  }
  const close = html.indexOf(">", end)
  return { name: name.toLowerCase(), attributes, end: close === -1 ? html.length : close + 1 }
}

const tagName = /[a-z][^\s/>]*/iy
const longestKey = 5
/** An unclosed quote is searched for only once. */
const attribute = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))?)?/y

/** Elements without readable content. Those with `true` swallow the rest of a page that does not close them. */
const rawElements: Readonly<Record<string, boolean>> = {
  script: true,
  style: true,
  title: false,
  textarea: false,
  template: false,
  svg: false,
  iframe: false,
  noembed: false,
  noframes: false,
}

/** Start of the end tag of such an element; `at` if there is nothing to skip. `unclosed`: names that were not found. */
function endOfRawContent(html: string, name: string, at: number, unclosed: Set<string>): number {
  if (!Object.hasOwn(rawElements, name) || unclosed.has(name)) return at
  const end = new RegExp(`</${name}(?=[\\s/>])`, "gi")
  end.lastIndex = at
  const found = end.exec(html)
  if (found !== null) return found.index
  unclosed.add(name)
  return rawElements[name] ? html.length : at
}

/** Comments and other markup that starts with "<" and is not a tag: a doctype, an instruction. */
function afterComment(html: string, at: number): number {
  const isComment = html.startsWith("<!--", at)
  // "<!-->" is a complete comment.
  const close = isComment ? html.indexOf("-->", at + 2) : html.indexOf(">", at)
  return close === -1 ? html.length : close + (isComment ? 3 : 1)
}
