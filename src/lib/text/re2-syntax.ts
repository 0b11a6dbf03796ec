/**
 * Why a pattern is not RE2, in the words of the engine; undefined if it is, or if only the engine can tell: names of Unicode
 * classes in braces and the size are not checked. The engine is too heavy to be loaded for a check at once.
 */
export function re2SyntaxError(pattern: string): string | undefined {
  try {
    new Scanner(pattern).scan()
    return undefined
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message
    throw error
  }
}

class SyntaxProblem extends Error {
  constructor(problem: string, part?: string) {
    super(part === undefined ? problem : `${problem}: \`${part}\``)
  }
}

/** Reads a pattern once, from its start. `#at` is the place of the next character. */
class Scanner {
  readonly #text: string
  #at = 0
  #openGroups = 0
  /** True if a repetition has something to repeat. */
  #isRepeatable = false
  /** The place of a repetition that has just ended; -1 after anything else. */
  #repetition = -1
  readonly #names = new Set<string>()

  constructor(text: string) {
    this.#text = text
  }

  scan(): void {
    while (this.#at < this.#text.length) {
      const from = this.#at
      const isRepetition = this.#element()
      this.#repetition = isRepetition ? from : -1
    }
    if (this.#openGroups > 0) throw new SyntaxProblem("missing closing )", this.#text)
  }

  /** True if it was a repetition. */
  #element(): boolean {
    const from = this.#at
    switch (this.#text.charAt(from)) {
      case "*":
      case "+":
      case "?":
        this.#at += 1
        return this.#repeat(from)
      case "{":
        return this.#bounds() ? this.#repeat(from) : this.#literal()
      case "(":
        return this.#group()
      case ")":
        if (this.#openGroups === 0) throw new SyntaxProblem("unexpected )", this.#text)
        this.#openGroups -= 1
        return this.#literal()
      case "|":
        this.#at += 1
        this.#isRepeatable = false
        return false
      case "[":
        this.#class()
        break
      case "\\":
        return this.#escaped()
      default:
        return this.#literal()
    }
    this.#isRepeatable = true
    return false
  }

  #literal(): false {
    this.#next()
    this.#isRepeatable = true
    return false
  }

  #repeat(from: number): true {
    if (this.#text.charAt(this.#at) === "?") this.#at += 1
    if (this.#repetition !== -1) throw this.#problem("invalid nested repetition operator", this.#repetition)
    if (!this.#isRepeatable) throw this.#problem("missing argument to repetition operator", from)
    return true
  }

  /** False: the brace is a character. */
  #bounds(): boolean {
    const from = this.#at
    const found = this.#take(/\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/y)
    if (found === undefined) return false
    const [, min = "", comma, max = comma === undefined ? min : ""] = found
    const isOrdered = max === "" || Number(min) <= Number(max)
    if (isOrdered && Math.max(Number(min), Number(max)) <= MAX_REPETITIONS) return true
    throw this.#problem("invalid repeat count", from)
  }

  #group(): false {
    const from = this.#at
    if (this.#take(/\(\?P?</y)) this.#name(from)
    else if (this.#take(/\(\?/y)) {
      this.#take(/[imsU]*(-[imsU]*)?/y)
      const isEmpty = this.#text.charAt(this.#at - 1) === "-"
      const end = this.#next()
      if (isEmpty || (end !== COLON && end !== PARENTHESIS))
        throw this.#problem("invalid or unsupported Perl syntax", from)
      // Flags for what follows: there is no group.
      if (end === PARENTHESIS) return false
    } else this.#at += 1
    this.#openGroups += 1
    this.#isRepeatable = false
    return false
  }

  #name(from: number): void {
    const end = this.#text.indexOf(">", this.#at)
    if (end === -1) throw new SyntaxProblem("invalid named capture", this.#text.slice(from))
    const name = this.#text.slice(this.#at, end)
    this.#at = end + 1
    if (!/^\w+$/.test(name)) throw this.#problem("invalid named capture", from)
    if (this.#names.has(name)) throw new SyntaxProblem("duplicate capture group name", name)
    this.#names.add(name)
  }

  /** Anything that starts with a backslash, outside of a class. */
  #escaped(): false {
    if (this.#take(/\\Q/y)) {
      const end = this.#text.indexOf("\\E", this.#at)
      if (end !== this.#at && this.#at < this.#text.length) this.#isRepeatable = true
      this.#at = end === -1 ? this.#text.length : end + 2
      return false
    }
    if (!this.#take(/\\[AbBz]/y) && !this.#namedClass()) this.#character()
    this.#isRepeatable = true
    return false
  }

  #class(): void {
    const from = this.#at
    this.#take(/\[\^?/y)
    for (let isFirst = true; isFirst || this.#text.charAt(this.#at) !== "]"; isFirst = false) {
      if (this.#posixClass() || this.#namedClass()) continue
      const start = this.#at
      const low = this.#classCharacter(from)
      if (!this.#take(/-(?!\])/y)) continue
      if (this.#classCharacter(from) < low) throw this.#problem("invalid character class range", start)
    }
    this.#at += 1
  }

  #classCharacter(from: number): number {
    if (this.#at >= this.#text.length) throw this.#problem("missing closing ]", from)
    return this.#text.charAt(this.#at) === "\\" ? this.#character() : this.#next()
  }

  /** `[:digit:]` */
  #posixClass(): boolean {
    const end = this.#text.startsWith("[:", this.#at) ? this.#text.indexOf(":]", this.#at) : -1
    if (end === -1) return false
    const name = this.#text.slice(this.#at, end + 2)
    if (!posixClass.test(name)) throw new SyntaxProblem("invalid character class range", name)
    this.#at = end + 2
    return true
  }

  /** `\d` or `\p{Lu}` */
  #namedClass(): boolean {
    if (this.#take(/\\[dDsSwW]/y)) return true
    const from = this.#at
    if (!this.#take(/\\[pP]/y)) return false
    if (this.#take(/\{[^}]*\}|[CLMNPSZ]/y)) return true
    throw new SyntaxProblem("invalid character class range", this.#text.slice(from))
  }

  /** The code of an escaped character. */
  #character(): number {
    const from = this.#at
    if (from + 1 === this.#text.length) throw new SyntaxProblem("trailing backslash at end of expression")
    const octal = this.#take(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y)?.[1]
    if (octal !== undefined) return Number.parseInt(octal, 8)
    const hex = this.#take(/\\x(?:\{([\dA-Fa-f]+)\}|([\dA-Fa-f]{2}))/y)
    const code = hex === undefined ? undefined : Number.parseInt(hex[1] ?? hex[2] ?? "", 16)
    if (code !== undefined && code <= LAST_CHARACTER) return code
    if (code === undefined) {
      this.#at += 1
      const next = this.#next()
      const letter = String.fromCodePoint(next)
      const control = controls.get(letter)
      if (control !== undefined) return control
      if (next < 128 && !/[\dA-Za-z]/.test(letter)) return next
    }
    throw this.#problem("invalid escape sequence", from)
  }

  /** The code of the next character; -1 at the end. */
  #next(): number {
    const code = this.#text.codePointAt(this.#at) ?? -1
    this.#at = Math.min(this.#text.length, this.#at + (code > 0xffff ? 2 : 1))
    return code
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text) ?? undefined
    this.#at += found?.[0].length ?? 0
    return found
  }

  #problem(problem: string, from: number): SyntaxProblem {
    return new SyntaxProblem(problem, this.#text.slice(from, this.#at))
  }
}

const MAX_REPETITIONS = 1000
const LAST_CHARACTER = 0x10ffff
const COLON = 58
const PARENTHESIS = 41
const controls: ReadonlyMap<string, number> = new Map(Object.entries({ a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 }))
const posixClass = /^\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]$/
