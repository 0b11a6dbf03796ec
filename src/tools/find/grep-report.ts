import { beforeCut, type Redact } from "../../lib/text/before-cut.ts"
import { truncateUtf8 } from "../../lib/truncate.ts"
import { onOneLine } from "../shared.ts"
import { type Line, lineEnd, nextLine } from "./grep-lines.ts"

export interface ReportOptions {
  readonly mode: "content" | "files" | "count"
  /** Number of context lines. */
  readonly before: number
  readonly after: number
  /** Maximum number of matching lines or files. */
  readonly limit: number
  /** Applied to a line before it is cut. */
  readonly redact: Redact
}

/** The report of one file while it is searched. */
export interface FileReport {
  /** False: nothing more is needed from this file. */
  add(line: Line): boolean
  end(): void
}

/** Collects the output of Grep. */
export class GrepReport {
  readonly #options: ReportOptions
  readonly #lines: string[] = []
  readonly #notes: string[] = []
  /** Matching lines, or files with a match. */
  #found = 0

  constructor(options: ReportOptions) {
    this.#options = options
  }

  /** There is more than may be printed. */
  get isFull(): boolean {
    return this.#found > this.#options.limit
  }

  file(path: string, text: string): FileReport {
    const name = onOneLine(path)
    if (this.#options.mode === "content") return this.#content(name, text)
    let count = 0
    return {
      add: () => {
        count++
        return this.#options.mode === "count"
      },
      end: () => {
        if (count > 0 && this.#mayPrint()) this.#lines.push(this.#options.mode === "count" ? `${name}:${count}` : name)
      },
    }
  }

  note(text: string): void {
    this.#notes.push(`[${text}]`)
  }

  toString(): string {
    const { mode, limit } = this.#options
    const things = mode === "content" ? "lines" : "files"
    return [
      ...(this.#lines.length > 0 ? this.#lines : ["No matches."]),
      ...(this.isFull ? [`[stopped after ${limit} ${things}; narrow the search or raise limit]`] : []),
      ...this.#notes,
    ].join("\n")
  }

  #mayPrint(): boolean {
    this.#found++
    return !this.isFull
  }

  #content(name: string, text: string): FileReport {
    const { before, after, redact } = this.#options
    // After the last printed line: the position of the next one, and the number of context lines that may follow.
    let next = { number: 1, start: 0 }
    let following = 0
    let hasPrinted = false
    const print = (start: number, separator: ":" | "-") => {
      const end = nextLine(text, start)
      const shown = shownLine(text.slice(start, lineEnd(text, start, end)), redact)
      this.#lines.push(`${name}${separator}${next.number}${separator}${shown}`)
      next = { number: next.number + 1, start: end }
    }
    const printFollowing = (stop: number) => {
      for (; following > 0 && next.start < stop; following--) print(next.start, "-")
      following = 0
    }
    return {
      add: ({ number, start }) => {
        printFollowing(start)
        if (!this.#mayPrint()) return false
        const first = startOfLineBefore(text, start, Math.min(before, number - next.number))
        const isApart = first.count < number - next.number
        if (before + after > 0 && this.#lines.length > 0 && (isApart || !hasPrinted)) this.#lines.push("--")
        next = { number: number - first.count, start: first.start }
        while (next.number < number) print(next.start, "-")
        print(start, ":")
        hasPrinted = true
        following = after
        return true
      },
      end: () => printFollowing(text.length),
    }
  }
}

function startOfLineBefore(text: string, start: number, count: number): { start: number; count: number } {
  let at = start
  for (let left = count; left > 0; left--) at = at < 2 ? 0 : text.lastIndexOf("\n", at - 2) + 1
  return { start: at, count }
}

const maxShownCharacters = 500

function shownLine(line: string, redact: Redact): string {
  const masked = beforeCut(line, maxShownCharacters, redact)
  const cut = truncateUtf8(masked, { maxBytes: Infinity, maxCharacters: maxShownCharacters })
  return cut.truncated ? `${cut.text} [line cut]` : masked
}
