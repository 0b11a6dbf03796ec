import type { LinearPatternOptions } from "../../../lib/linear-pattern.ts"

/**
 * A pattern for Rust's regular expressions on bytes that matches wherever the RE2 one matches the decoded text, and
 * sometimes more: to select candidate files. `source` is valid RE2. Undefined if there is no such pattern: then all
 * files are candidates.
 */
export function toRustPattern(source: string, options: LinearPatternOptions): string | undefined {
  const { ignoreCase = false, multiline = false } = options
  if (source.includes("\\Q")) return undefined
  // A dot does not match line breaks unless a flag says otherwise.
  const dot = multiline && /\(\?[imU]*s/.test(source) ? anyCharacter : anyInLine
  const written = source.replace(tokens, (token) => (token === "." ? dot : translate(token, multiline)))
  return `(?${ignoreCase ? "i" : ""}:${written})`
}

/** Characters by their numbers. */
const code = "\\\\x\\{[\\da-fA-F]+\\}|\\\\x[\\da-fA-F]{2}|\\\\[0-7]{1,3}"
const tokens = new RegExp(
  [
    "\\[\\^?\\]?(?:\\[:\\^?\\w+:\\]|\\\\.|[^\\]\\\\])*\\]",
    "\\(\\?[imsU-]*[:)]|\\(\\?P?<[^>]+>",
    "\\{\\d+(?:,\\d*)?\\}",
    "\\\\[pP](?:\\{[^}]+\\}|.)",
    `${code}|\\\\.|.`,
  ].join("|"),
  "gsu",
)

function translate(token: string, multiline: boolean): string {
  const known = (multiline ? inMultiline[token] : undefined) ?? inLine[token]
  if (known !== undefined) return known
  if (token.startsWith("(?")) return writeGroup(token)
  // The two engines may use different Unicode versions.
  if (/^\\[pP]/.test(token)) return multiline ? anyCharacter : anyInLine
  if (token.length > 1 && token.startsWith("[")) return writeClass(token, multiline)
  if (/^(?:[|)*+?]|\{\d)/.test(token)) return token
  return writeCharacter(codePoint(token), multiline)
}

/** Flags other than `i` do not affect whether there is a match, or are handled elsewhere. */
function writeGroup(token: string): string {
  const [, on = "", off = "", end = ":"] = /^\(\?([imsU]*)(-[imsU]*)?([:)])/.exec(token) ?? []
  const flag = on.includes("i") ? "i" : off.includes("i") ? "-i" : ""
  return flag === "" && end === ")" ? "(?:)" : `(?${flag}${end}`
}

/** Invalid UTF-8 is decoded to U+FFFD, one for up to three bytes. */
function wide(except: string): string {
  return `(?:(?-u:[^${except}])|(?-u:[\\x80-\\xff]{2,4}))`
}

const anyInLine = wide("\\n")
/** Grep normalises line endings for multiline searches. */
const anyCharacter = "(?:(?s-u:.)|(?-u:[\\x80-\\xff]{2,4})|\\r\\n)"

/**
 * Words, digits and spaces are ASCII in RE2. `R`: also before the carriage return of a line ending, which Grep removes.
 */
const inLine: Readonly<Record<string, string>> = {
  "(": "(?:",
  "^": "(?m:^)",
  "\\A": "(?m:^)",
  $: "(?Rm:$)",
  "\\z": "(?Rm:$)",
  "\\b": "(?-u:\\b)",
  "\\B": "(?-u:\\B)",
  "\\d": "[0-9]",
  "\\w": "[0-9A-Za-z_]",
  "\\s": "[\\t\\x0c\\r ]",
  "\\D": wide("0-9\\n"),
  "\\W": wide("0-9A-Za-z_\\n"),
  "\\S": wide("\\t\\n\\x0c\\r "),
}
const inMultiline: Readonly<Record<string, string>> = {
  "\\s": "(?:[\\t\\n\\x0c\\r ]|\\r\\n)",
  "\\D": anyCharacter,
  "\\W": anyCharacter,
}

function writeCharacter(point: number, multiline: boolean): string {
  if (point === 0x0a) return multiline ? "(?:\\r?\\n)" : "[^\\x{0}-\\x{10ffff}]"
  if (point === 0xfffd) return anyInLine
  return writePoint(point)
}

function writePoint(point: number): string {
  const isPlain = /^[0-9A-Za-z]$/.test(String.fromCodePoint(point))
  return isPlain ? String.fromCodePoint(point) : `\\x{${point.toString(16)}}`
}

const single = `${code}|\\\\[^A-Zb-eg-mo-qsuw-z]|[^\\\\]`
const member = new RegExp(`\\[:(\\w+):\\]|\\\\([dsw])|(${single})(?:-(${single}))?`, "suy")

/** Only plain classes; anything for the others. */
function writeClass(token: string, multiline: boolean): string {
  const any = multiline ? anyCharacter : anyInLine
  const body = token.slice(1, -1)
  if (body.startsWith("^") || body.includes("[:^")) return any
  let written = ""
  for (member.lastIndex = 0; member.lastIndex < body.length; ) {
    const match = member.exec(body)
    if (match === null) return any
    const [, posix, perl, first, last = first] = match
    if (posix !== undefined) {
      if (/^(?:ascii|cntrl|space)$/.test(posix)) return any
      written += `[:${posix}:]`
    } else if (perl !== undefined) {
      if (perl === "s" && multiline) return any
      written += inLine[`\\${perl}`]?.slice(1, -1)
    } else {
      const [from, to] = [codePoint(first ?? ""), codePoint(last ?? "")]
      if ([0x0a, 0xfffd].some((odd) => from <= odd && odd <= to)) return any
      written += `${writePoint(from)}-${writePoint(to)}`
    }
  }
  return `[${written}]`
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 }

/** Of a character or an escape for one. */
function codePoint(token: string): number {
  if (!token.startsWith("\\") || token.length === 1) return token.codePointAt(0) ?? 0
  const hex = /^\\x\{?([\da-fA-F]+)/.exec(token)?.[1]
  if (hex !== undefined) return Number.parseInt(hex, 16)
  if (/^\\[0-7]/.test(token)) return Number.parseInt(token.slice(1), 8)
  const name = token.slice(1)
  return controls[name] ?? name.codePointAt(0) ?? 0
}
