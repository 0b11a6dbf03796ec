import type { Files } from "../../contract/env.ts"
import type { Json } from "../../contract/json.ts"
import type { PendingToolCall } from "../../contract/result.ts"
import { isJsonObject } from "../../lib/json.ts"
import { decodeText } from "../../lib/text-file.ts"
import { counted, visible } from "../format.ts"
import type { Colours } from "../output.ts"
import { fittingLength } from "../screen.ts"
import { dryRun, type PlannedChange, triedTools } from "./dry-run.ts"
import { diffLines } from "./line-diff.ts"

/** A line about a call. The prefix is ours; the text can be arbitrary. */
export interface PreviewLine {
  readonly sign: string
  readonly text: string
  readonly tone?: "added" | "removed" | "dim" | "bold"
}

/** Exactly the change that approving the call makes: a file diff, a command, or arguments. */
export async function previewCall(
  { name, args }: Pick<PendingToolCall, "name" | "args">,
  { files, cwd }: { readonly files: Files; readonly cwd: string },
): Promise<readonly PreviewLine[]> {
  if (name === "Bash") return commandLines(args, cwd)
  if (isJsonObject(args) && typeof args.url === "string") return urlLines(name, args.url, args)
  if (!triedTools.includes(name)) return [heading(name), ...argumentLines(args)]
  const tried = await dryRun({ name, args }, files, cwd)
  if (tried.ok) return tried.changes.flatMap((change) => changeLines(name, change))
  return [heading(`${name} will fail: ${tried.reason}`), ...argumentLines(args)]
}

/** Rows of at most `width` columns. Each starts with a prefix of ours, so that no text can imitate another row. */
export function previewRows(lines: readonly PreviewLine[], width: number, colours: Colours): readonly string[] {
  return lines.flatMap(({ sign, text, tone }) => {
    const room = Math.max(10, width - 2)
    const colour = tone === undefined ? (row: string) => row : tones(colours)[tone]
    return pieces(shown(text), room).map((piece, index) =>
      colour(`${(index === 0 ? sign : "↳").padEnd(2)}${piece}`.trimEnd()),
    )
  })
}

function tones(colours: Colours) {
  return { added: colours.green, removed: colours.red, dim: colours.dim, bold: colours.bold }
}

/** A single line: characters that would break or move the line are made visible. */
function shown(text: string): string {
  return visible(text.replace(/\r$/, "␍")).replaceAll("\n", "␊").replaceAll("\t", "␉")
}

/** Cut where a row is full, not between words, because every space may matter. */
function pieces(text: string, width: number): readonly string[] {
  const cut: string[] = []
  for (let at = 0; at < text.length || cut.length === 0; ) {
    const end = at + Math.max(1, fittingLength(text.slice(at, at + width), width))
    cut.push(text.slice(at, end))
    at = end
  }
  return cut
}

function heading(text: string): PreviewLine {
  return { sign: "▸", text, tone: "bold" }
}

function commandLines(args: Json, cwd: string): readonly PreviewLine[] {
  if (!isJsonObject(args) || typeof args.command !== "string") return [heading("Bash"), ...argumentLines(args)]
  const { command, ...others } = args
  return [
    heading(`Bash in ${cwd}`),
    ...command.split("\n").map((text, index): PreviewLine => ({ sign: index === 0 ? "$" : ">", text })),
    ...(Object.keys(others).length === 0 ? [] : argumentLines(others)),
  ]
}

/** The address first, with its host on a row of its own: it may be hidden in a long path. */
function urlLines(name: string, url: string, args: Json): readonly PreviewLine[] {
  const host = URL.canParse(url) ? new URL(url).host : "an invalid address"
  return [heading(`${name} from ${host}`), ...argumentLines(args)]
}

function argumentLines(args: Json): readonly PreviewLine[] {
  return JSON.stringify(args, null, 2)
    .split("\n")
    .map((text) => ({ sign: " ", text }))
}

function changeLines(name: string, { path, before, after }: PlannedChange): readonly PreviewLine[] {
  const title = (what: string) => heading(`${name} ${path}${what === "" ? "" : ` (${what})`}`)
  if (after === null) return [title("deletes the file"), ...comparison(before, after)]
  if (before === null) return [title("a new file"), ...comparison(before, after)]
  if (typeof before === "number") {
    return [title(`replaces ${counted(before, "byte")}, too many to compare`), ...comparison(null, after)]
  }
  const lines = comparison(before, after)
  if (lines.length > 0) return [title(""), ...lines]
  const isSame = before.length === after.length && before.every((byte, index) => byte === after[index])
  return [title(isSame ? "changes nothing" : "changes the encoding only")]
}

const marks = { same: " ", added: "+", removed: "-" } as const

function comparison(before: PlannedChange["before"], after: Uint8Array | null): readonly PreviewLine[] {
  if (typeof before === "number") return []
  return diffLines(linesOf(before), linesOf(after)).map((line): PreviewLine => {
    if (line.kind === "gap") return { sign: "…", text: `line ${line.line}`, tone: "dim" }
    return { sign: marks[line.kind], text: line.text, ...(line.kind !== "same" && { tone: line.kind }) }
  })
}

/** The last line of a file without a trailing line feed differs from the same line with one. */
function linesOf(bytes: Uint8Array | null): readonly string[] {
  if (bytes === null || bytes.length === 0) return []
  const file = decodeText(bytes)
  if (file === undefined) return [`(${counted(bytes.length, "byte")}, not text)`]
  const lines = file.text.split("\n")
  const last = lines.pop() ?? ""
  return last === "" ? lines : [...lines, `${last} (no line feed at the end)`]
}
