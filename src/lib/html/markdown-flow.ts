/** A wrapper of inline text, such as a link. Its mark is written before its first word, or never. */
interface Wrapper {
  readonly kind: "link" | "code"
  readonly open: string
  readonly close: string
  opened: boolean
}

/**
 * Assembles words and blocks into lines of Markdown. Spaces, line breaks and marks are written only once content
 * follows.
 */
export class MarkdownFlow {
  readonly #maxCharacters: number
  readonly #pieces: string[] = []
  #length = 0
  #breaks = 0
  #space = false
  #marker = ""
  #wrappers: Wrapper[] = []
  /** Nesting depth of the next line in quotations and lists. */
  quotes = 0
  indents = 0
  /** Blocks are inline, as in a table cell. */
  flat = false

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters
  }

  get isFull(): boolean {
    return this.#length > this.#maxCharacters
  }

  /** Flowing text: any white space is one space. */
  words(text: string): void {
    const words = text.trim()
    if (words === "") {
      this.#space ||= text !== ""
      return
    }
    if (/^\s/.test(text)) this.#space = true
    this.#begin()
    for (const wrapper of this.#wrappers) {
      if (!wrapper.opened) this.#write(wrapper.open)
      wrapper.opened = true
    }
    this.#write(words.replace(/\s+/g, " "))
    this.#space = /\s$/.test(text)
  }

  /** Preformatted text, including line breaks. */
  verbatim(text: string): void {
    const room = text.slice(0, Math.max(0, this.#maxCharacters + 1 - this.#length))
    const [first = "", ...more] = room.split(/\r\n|\r|\n/)
    if (first !== "") {
      this.#begin()
      this.#write(first)
    }
    for (const line of more) {
      this.#breaks++
      if (line !== "") {
        this.#begin()
        this.#write(line)
      }
    }
  }

  /** A separator between two parts of a line, outside their wrappers. */
  separate(sign: string): void {
    this.#space = true
    this.#begin()
    this.#write(sign)
    this.#space = true
  }

  /** The next content is on a new line, or after an empty one; right after a mark it stays with it. */
  block(breaks: 1 | 2): void {
    if (this.flat) {
      this.#space = true
      return
    }
    this.#closeWrappers(0)
    if (this.#marker === "") this.#breaks = Math.max(this.#breaks, breaks)
    this.#space = false
  }

  lineBreak(): void {
    if (this.flat) this.#space = true
    else this.#breaks = Math.min(2, this.#breaks + 1)
  }

  /** A mark for the next line, such as that of a heading, replacing one without content. */
  mark(sign: string): void {
    if (!this.flat) this.#marker = sign
  }

  wrap(kind: Wrapper["kind"], open: string, close: string): void {
    if (this.#wrappers.length < deepestWrapper) this.#wrappers.push({ kind, open, close, opened: false })
  }

  unwrap(kind: Wrapper["kind"]): void {
    const index = this.#wrappers.findLastIndex((each) => each.kind === kind)
    if (index !== -1) this.#closeWrappers(index, true)
  }

  text(): string {
    this.#closeWrappers(0)
    return this.#pieces.join("")
  }

  /** Writes pending line breaks, the start of a line or a space. */
  #begin(): void {
    const isFirst = this.#length === 0
    if (isFirst || this.#breaks > 0) {
      if (!isFirst) this.#write("\n".repeat(this.#breaks))
      const indents = this.#marker.startsWith("#") ? 0 : Math.max(0, this.indents - (this.#marker === "" ? 0 : 1))
      this.#write("> ".repeat(Math.min(this.quotes, deepestQuote)) + "  ".repeat(Math.min(indents, deepestIndent)))
      this.#write(this.#marker)
    } else if (this.#space) {
      this.#write(" ")
    }
    this.#marker = ""
    this.#breaks = 0
    this.#space = false
  }

  /** From an index on. A link without words may get them in the next block, unless it is closed. */
  #closeWrappers(from: number, isOver = false): void {
    const kept = this.#wrappers.slice(0, from)
    const closed = this.#wrappers.slice(from)
    for (const { opened, close } of closed.toReversed()) if (opened) this.#write(close)
    this.#wrappers = isOver ? kept : [...kept, ...closed.filter(({ opened, kind }) => !opened && kind === "link")]
  }

  #write(text: string): void {
    this.#pieces.push(text)
    this.#length += text.length
  }
}

const deepestQuote = 4
const deepestIndent = 8
const deepestWrapper = 4
