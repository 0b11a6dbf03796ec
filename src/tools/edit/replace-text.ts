import { ToolError } from "../../contract/tool.ts"
import type { Redact } from "../../lib/text/before-cut.ts"
import { decodeText, encodeText } from "../../lib/text-file.ts"
import { closestLines } from "./closest-lines.ts"

/** One requested replacement. */
export interface Replacement {
  readonly oldText: string
  readonly newText: string
  readonly replaceAll: boolean
}

/** Applies replacements in order to a file's bytes; every other byte stays. `name`: the file as displayed. `redact`: for errors. */
export function replaceInFile(
  bytes: Uint8Array,
  replacements: readonly Replacement[],
  name: string,
  redact: Redact,
): Replaced {
  const file = decodeText(bytes)
  if (file === undefined) throw new ToolError("invalid_input", `${name} is a binary file.`)
  let { text } = file
  const firstLines: number[] = []
  let count = 0
  for (const [index, replacement] of replacements.entries()) {
    const which = replacements.length === 1 ? "" : `Edit ${index + 1} of ${replacements.length}: `
    const done = replaceInText(text, replacement, { name, which, redact })
    text = done.text
    count += done.count
    firstLines.push(done.line)
  }
  const changed = encodeText({ text, encoding: file.encoding })
  if (changed === undefined) {
    throw new ToolError(
      "invalid_input",
      `${name} is in Latin-1, which cannot represent all characters of the new text.`,
    )
  }
  return { bytes: changed, count, firstLines }
}

export interface Replaced {
  readonly bytes: Uint8Array
  readonly count: number
  /** The line of each replacement, at the time it was made. */
  readonly firstLines: readonly number[]
}

function replaceInText(
  text: string,
  { oldText, newText, replaceAll }: Replacement,
  { name, which, redact }: { readonly name: string; readonly which: string; readonly redact: Redact },
): { readonly text: string; readonly count: number; readonly line: number } {
  if (oldText === "") throw new ToolError("invalid_input", `${which}oldText is empty: write the whole file instead.`)
  if (oldText === newText) throw new ToolError("invalid_input", `${which}oldText and newText are identical.`)
  // A file with CRLF is displayed like any other, so the model's text has no CR.
  const crlf = !text.includes(oldText) && oldText.includes("\n") && text.includes(toCrlf(oldText))
  const [wanted, wording] = crlf ? [toCrlf(oldText), toCrlf(newText)] : [oldText, newText]
  const places = placesOf(text, wanted)
  const [first] = places
  if (first === undefined) {
    const hint = closestLines(text, oldText, redact)
    throw new ToolError("not_found", `${which}oldText does not occur in ${name}.${hint === "" ? "" : `\n${hint}`}`)
  }
  if (places.length > 1 && !replaceAll) {
    const lines = places.slice(0, 10).map((place) => lineAt(text, place))
    const more = places.length > 10 ? " …" : ""
    throw new ToolError(
      "conflict",
      `${which}oldText occurs ${places.length} times in ${name} (lines ${lines.join(", ")}${more}). ` +
        "Include more surrounding text, or set replaceAll.",
    )
  }
  const replaced = replaceAll ? text.split(wanted).join(wording) : splice(text, first, wanted.length, wording)
  return { text: replaced, count: replaceAll ? text.split(wanted).length - 1 : 1, line: lineAt(text, first) }
}

/** As `split` finds them: matches do not overlap. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = []
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) places.push(at)
  return places
}

function splice(text: string, at: number, length: number, wording: string): string {
  return text.slice(0, at) + wording + text.slice(at + length)
}

function lineAt(text: string, place: number): number {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line++
  return line
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n")
}
