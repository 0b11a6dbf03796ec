import type { EntityDecoder } from "./html-entities.ts"
import { type HtmlAttributes, htmlTokens } from "./html-tokens.ts"
import { MarkdownFlow } from "./markdown-flow.ts"

export interface HtmlText {
  /** Empty if the page has none. */
  readonly title: string
  /** Approximate Markdown: headings, lists, links, code, tables as lines with bars. */
  readonly text: string
  readonly truncated: boolean
}

export interface HtmlToTextOptions {
  /** The base URL of links. */
  readonly url?: string
  /** Default: a million. */
  readonly maxCharacters?: number
}

/** The readable text of a page. Never throws, and takes linear time on any input. */
export function htmlToText(html: string, decode: EntityDecoder, options: HtmlToTextOptions = {}): HtmlText {
  const { url, maxCharacters = 1_000_000 } = options
  const page = new Page(url, maxCharacters)
  for (const token of htmlTokens(html, decode)) {
    if (token.kind === "text") page.text(token.text)
    else if (token.kind === "start") page.start(token.name, token.attributes)
    else page.end(token.name)
    if (page.flow.isFull) break
  }
  page.end("pre")
  const text = page.flow.text()
  const truncated = text.length > maxCharacters
  return { title: page.title, text: truncated ? text.slice(0, maxCharacters) : text, truncated }
}

const longestTitle = 300
const longestAddress = 1000

/** Number of line breaks before and after a block. */
const blocks: ReadonlyMap<string, 1 | 2> = new Map([
  ...each(2, "address article aside blockquote details dl fieldset figure footer form header hr main nav ol p pre"),
  ...each(2, "section table ul h1 h2 h3 h4 h5 h6"),
  ...each(1, "body caption dd div dt figcaption html legend li option select summary tbody tfoot thead tr"),
])

function each(breaks: 1 | 2, names: string): (readonly [string, 1 | 2])[] {
  return names.split(" ").map((name) => [name, breaks])
}

/** The open elements at a position of the page. */
class Page {
  readonly flow: MarkdownFlow
  title = ""
  #base: string | undefined
  #inTitle = false
  #inPre = false
  #preBegins = false
  /** The last item number in each open list; undefined for unordered lists. */
  readonly #lists: (number | undefined)[] = []
  /** Number of cells in the current row, for each open table. */
  readonly #tables: number[] = []
  /** Cells that have started without content. */
  #emptyCells = 0

  constructor(url: string | undefined, maxCharacters: number) {
    this.flow = new MarkdownFlow(maxCharacters)
    this.#base = url
  }

  text(text: string): void {
    if (this.#inTitle) {
      this.#inTitle = false
      this.title ||= text.trim().replace(/\s+/g, " ").slice(0, longestTitle)
    } else if (this.#inPre) {
      // The line break right after the tag is not part of it.
      this.flow.verbatim(this.#preBegins ? text.replace(/^\r?\n/, "") : text)
      this.#preBegins = false
    } else {
      if (this.#emptyCells > 0 && text.trim() !== "") this.#separateCells()
      this.flow.words(text)
    }
  }

  start(name: string, attributes: HtmlAttributes): void {
    if (isOfTable(name)) this.flow.flat = false
    this.#block(name)
    switch (name) {
      case "title":
        this.#inTitle = true
        break
      case "base":
        this.#base = this.#address(attributes.href) ?? this.#base
        break
      case "a":
        this.#link(attributes.href)
        break
      case "img":
        if (attributes.alt?.trim()) this.text(`[image: ${attributes.alt.trim().slice(0, longestTitle)}]`)
        break
      case "br":
        if (this.#inPre) this.flow.verbatim("\n")
        else this.flow.lineBreak()
        break
      case "hr":
        this.flow.words("---")
        this.flow.block(2)
        break
      case "code":
      case "kbd":
      case "samp":
      case "tt":
        if (!this.#inPre) this.flow.wrap("code", "`", "`")
        break
      case "blockquote":
        this.flow.quotes++
        break
      case "ul":
      case "ol":
        this.#lists.push(name === "ol" ? 0 : undefined)
        this.flow.indents = this.#lists.length
        break
      case "li":
        this.#item()
        break
      case "pre":
        this.#openPre()
        break
      case "table":
        this.#tables.push(0)
        this.#emptyCells = 0
        break
      case "tr":
        this.#beginRow()
        break
      case "td":
      case "th":
        this.#beginCell()
        break
      default:
        if (/^h[1-6]$/.test(name)) this.flow.mark(`${"#".repeat(Number(name[1]))} `)
    }
  }

  end(name: string): void {
    switch (name) {
      case "title":
        this.#inTitle = false
        break
      case "a":
        this.flow.unwrap("link")
        break
      case "code":
      case "kbd":
      case "samp":
      case "tt":
        this.flow.unwrap("code")
        break
      case "blockquote":
        this.flow.quotes = Math.max(0, this.flow.quotes - 1)
        break
      case "ul":
      case "ol":
        this.#lists.pop()
        this.flow.indents = this.#lists.length
        break
      case "pre":
        this.#closePre()
        break
      case "table":
        this.#tables.pop()
        break
      default:
        if (/^(?:h[1-6]|li)$/.test(name)) this.flow.mark("")
    }
    if (isOfTable(name)) this.flow.flat = false
    this.#block(name)
    if (name === "table") this.#resumeCell()
  }

  #block(name: string): void {
    const breaks = blocks.get(name)
    if (breaks === undefined) return
    const isInnerList = (name === "ul" || name === "ol") && this.#lists.length > 0
    if (this.#inPre) this.flow.block(1)
    else this.flow.block(isInnerList ? 1 : breaks)
  }

  #link(href: string | undefined): void {
    this.flow.unwrap("link")
    const address = this.#inPre || href?.startsWith("#") ? undefined : this.#address(href)
    if (address !== undefined) this.flow.wrap("link", "[", `](${address})`)
  }

  #address(href: string | undefined): string | undefined {
    if (href === undefined || href.length > longestAddress) return undefined
    try {
      const { protocol, href: address } = new URL(href.trim(), this.#base)
      return protocol === "http:" || protocol === "https:" ? address : undefined
    } catch {
      return undefined
    }
  }

  #item(): void {
    const last = this.#lists.length - 1
    const number = this.#lists[last]
    if (number !== undefined) this.#lists[last] = number + 1
    this.flow.mark(number === undefined ? "- " : `${number + 1}. `)
  }

  #openPre(): void {
    if (this.#inPre) return
    this.flow.flat = false
    this.flow.block(2)
    this.flow.verbatim("```\n")
    this.#inPre = true
    this.#preBegins = true
  }

  #closePre(): void {
    if (!this.#inPre) return
    this.#inPre = false
    this.flow.block(1)
    this.flow.words("```")
    this.flow.block(2)
    this.#resumeCell()
  }

  #beginRow(): void {
    if (this.#tables.length > 0) this.#tables[this.#tables.length - 1] = 0
    this.#emptyCells = 0
  }

  #beginCell(): void {
    const cells = this.#tables.at(-1)
    if (cells === undefined) return
    this.#tables[this.#tables.length - 1] = cells + 1
    if (cells > 0) this.#emptyCells++
    this.flow.unwrap("link")
    this.flow.flat = !this.#inPre
  }

  #separateCells(): void {
    this.flow.separate(Array.from({ length: Math.min(this.#emptyCells, 50) }, () => "|").join(" "))
    this.#emptyCells = 0
  }

  #resumeCell(): void {
    this.flow.flat = (this.#tables.at(-1) ?? 0) > 0
  }
}

/** Parts of a table that end a cell, closed or not. */
function isOfTable(name: string): boolean {
  return name === "table" || name === "tr" || name === "thead" || name === "tbody" || name === "tfoot"
}
