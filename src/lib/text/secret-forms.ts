import { bytesToBase64 } from "../bytes.ts"

/** One way in which a secret can be written. */
export interface Form {
  /** Part of the reference, so that the same spelling can be restored. Empty for the value itself. */
  readonly name: string
  readonly text: string
}

/** All spellings of a value, one layer of encoding deep (JSON: three). Short values get only those that stay specific. */
export function formsOf(value: string): readonly Form[] {
  const forms = new Map<string, string>()
  const add = (prefix: string, spellings: Spellings) => {
    for (const [name, text] of Object.entries(spellings)) {
      if (!forms.has(text)) forms.set(text, `${prefix}${name}`)
    }
  }
  add("", spellingsOf(value))
  const lines = value.split(/\r?\n/).map((line) => line.trim())
  if (lines.length > 1) {
    for (const [index, line] of lines.entries()) {
      // The first and last line of a key file are the same in every file.
      if (line.length >= MIN_LINE_LENGTH && !line.startsWith("-----")) add(`line${index + 1}-`, spellingsOf(line))
    }
  }
  return [...forms].map(([text, name]) => ({ name: name.replace(/-$/, ""), text }))
}

type Spellings = Readonly<Record<string, string>>

function spellingsOf(value: string): Spellings {
  const bytes = value.length < MIN_ENCODED_LENGTH ? {} : { ...byteSpellings(value), ...escapeSpellings(value) }
  // JSON, URLs and HTML leave most keys as they are.
  if (/^[\w.-]*$/.test(value)) return { "": value, ...bytes }
  const plain = { "": value, ...jsonSpellings(value), ...percentSpellings(value), ...shellSpellings(value) }
  return value.length < MIN_ENCODED_LENGTH ? plain : { ...plain, ...bytes, ...htmlSpellings(value) }
}

function jsonSpellings(value: string): Spellings {
  const json = insideQuotes(value)
  const ascii = json.replace(/[^\x20-\x7e]/g, unicodeEscape)
  const html = ascii.replace(/[<>&']/g, unicodeEscape)
  return {
    json,
    "json-slash": json.replaceAll("/", "\\/"),
    "json-ascii": ascii,
    "json-ascii-slash": ascii.replaceAll("/", "\\/"),
    "json-ascii-upper": ascii.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    "json-html": html,
    "json-angle": json.replace(/[<>&\u2028\u2029]/g, unicodeEscape),
    "json-twice": insideQuotes(json),
    "json-slash-twice": insideQuotes(json.replaceAll("/", "\\/")),
    "json-ascii-slash-twice": insideQuotes(ascii.replaceAll("/", "\\/")),
    // Our own errors quote values as JSON.
    "json-thrice": insideQuotes(insideQuotes(json)),
    "json-ascii-twice": insideQuotes(ascii),
  }
}

/** As bash prints a word that can be used again, and inside single quotes. */
function shellSpellings(value: string): Spellings {
  return {
    shell: value.replace(/[^A-Za-z0-9%+,./:=@_^-]/g, "\\$&"),
    "shell-quoted": value.replaceAll("'", "'\\''"),
  }
}

function percentSpellings(value: string): Spellings {
  const percent = encodeURIComponent(value.replace(/\p{Surrogate}/gu, "\ufffd"))
  const strict = percent.replace(/[!'()*]/g, percentEscape)
  const form = strict.replaceAll("%20", "+")
  const search = form.replaceAll("%2A", "*").replaceAll("~", "%7E")
  const path = percent.replace(/%(?:2F|3A|40|26|3D|2B|24|2C|3B)/g, decodeURIComponent)
  const quoted = strict.replaceAll("%2F", "/")
  const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  return {
    url: percent,
    "url-lower": lower(percent),
    "url-strict": strict,
    "url-strict-lower": lower(strict),
    "url-form": form,
    "url-form-lower": lower(form),
    "url-search": search,
    "url-search-lower": lower(search),
    "url-path": path,
    "url-path-lower": lower(path),
    "url-quoted": quoted,
    "url-quoted-lower": lower(quoted),
    "url-twice": percent.replaceAll("%", "%25"),
    "url-twice-lower": lower(percent).replaceAll("%", "%25"),
    "url-strict-twice": strict.replaceAll("%", "%25"),
  }
}

function byteSpellings(value: string): Spellings {
  const bytes = new TextEncoder().encode(value)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
  // One character for each byte: how the output of a command is read.
  const utf8 = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")
  const spellings: Record<string, string> = { utf8, hex, "hex-upper": hex.toUpperCase() }
  for (const offset of [0, 1, 2]) {
    const text = base64At(bytes, offset)
    spellings[`base64-${offset}`] = text
    spellings[`base64url-${offset}`] = text.replaceAll("+", "-").replaceAll("/", "_")
  }
  for (const [name, separator] of [
    ["comma", ","],
    ["comma-space", ", "],
    ["space", " "],
  ] as const) {
    spellings[`decimal-${name}`] = bytes.join(separator)
  }
  spellings.reversed = Array.from(value).reverse().join("")
  return spellings
}

/** Every character escaped, as some programs do for JSON and addresses. */
function escapeSpellings(value: string): Spellings {
  const codes = Array.from({ length: value.length }, (_, index) => unicodeEscape(value.charAt(index)))
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => `%${byte.toString(16).padStart(2, "0")}`)
  const upper = (text: string) => text.replace(/[a-f]/g, (digit) => digit.toUpperCase())
  return {
    "json-all": codes.join(""),
    "json-all-upper": codes.map((code) => `\\u${upper(code.slice(2))}`).join(""),
    "json-all-twice": codes.map((code) => `\\${code}`).join(""),
    "url-all": bytes.join(""),
    "url-all-upper": upper(bytes.join("")),
    "url-all-twice": bytes.map((byte) => byte.replace("%", "%25")).join(""),
    "url-all-twice-upper": upper(bytes.map((byte) => byte.replace("%", "%25")).join("")),
  }
}

/** The characters of a base64 text that depend on the value only, if `offset` bytes of a group precede it. */
function base64At(bytes: Uint8Array, offset: number): string {
  const shifted = new Uint8Array(offset + bytes.length)
  shifted.set(bytes, offset)
  const first = offset === 0 ? 0 : offset + 1
  return bytesToBase64(shifted).slice(first, Math.floor((shifted.length * 8) / 6))
}

function htmlSpellings(value: string): Spellings {
  const html = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
  const apostrophe = (code: string) => html.replaceAll("'", code)
  return {
    html,
    "html-apos": apostrophe("&#39;"),
    "html-apos-hex": apostrophe("&#x27;"),
    "html-apos-name": apostrophe("&apos;"),
    "html-codes": apostrophe("&#39;").replaceAll("&quot;", "&#34;"),
  }
}

function insideQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
}

function percentEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** From this length on, encodings of a value are long enough not to occur by chance. */
export const MIN_ENCODED_LENGTH = 8
const MIN_LINE_LENGTH = 16
