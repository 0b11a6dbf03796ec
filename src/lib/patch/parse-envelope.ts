import { type FilePatch, type Hunk, malformed, shown } from "./file-patch.ts"
import { anchorIn, numbersIn, readHunkBody, toHunk, withLineEnds } from "./read-hunk.ts"

/** Parses `*** Begin Patch` … `*** End Patch`, from its first line on; several in a row are one. */
export function parseEnvelope(lines: readonly string[]): readonly FilePatch[] {
  const patches: FilePatch[] = []
  let isOpen = false
  for (let at = 0; at < lines.length; ) {
    const line = (lines[at] ?? "").trim()
    if (line === "") at++
    else if (isBegin(line)) {
      if (isOpen) throw malformed(`A second "*** Begin Patch" comes before the "*** End Patch" of the first.`)
      isOpen = true
      at++
    } else if (!isOpen) throw malformed(`${shown(line)} follows "*** End Patch": pass nothing but the patch.`)
    else if (line === "*** End Patch") {
      isOpen = false
      at++
    } else {
      const [patch, next] = parseFile(lines, at)
      patches.push(patch)
      at = next
    }
  }
  if (isOpen) throw malformed(`The patch does not end with "*** End Patch": it may have been cut off.`)
  return patches
}

export function isBegin(line: string): boolean {
  return line.trim() === "*** Begin Patch"
}

type Parsed = readonly [patch: FilePatch, next: number]

function parseFile(lines: readonly string[], at: number): Parsed {
  const line = lines[at] ?? ""
  const [, verb, path = ""] = /^\s*\*\*\* (Add|Delete|Update) File:(.*)$/.exec(line.trimEnd()) ?? []
  if (verb === undefined) {
    throw malformed(
      `Line ${at + 1} of the patch, ${shown(line)}, must start with "*** Add File: ", "*** Delete File: ", ` +
        `"*** Update File: " or "*** End Patch".`,
    )
  }
  if (path.trim() === "") throw malformed(`Line ${at + 1} of the patch, ${shown(line)}, does not name a file.`)
  if (verb === "Add") return parseAdd(lines, at + 1, path.trim())
  if (verb === "Update") return parseUpdate(lines, at + 1, path.trim())
  return [{ kind: "delete", path: path.trim(), hunks: [] }, at + 1]
}

function parseAdd(lines: readonly string[], from: number, path: string): Parsed {
  const body = readHunkBody(lines, from, isMarker)
  const wrong = body.lines.find(({ kind, text }) => kind === "remove" || (kind === "keep" && text !== ""))
  if (wrong) throw malformed(`${path}: every line of a new file must start with "+", unlike ${shown(wrong.text)}.`)
  const content = body.lines.map(({ text, end = "\n" }) => text + end).join("")
  const whole = body.finalNewline === false ? content.replace(/\r?\n$/, "") : content
  return [{ kind: "add", path, content: whole }, afterEnd(lines, body.next)]
}

function parseUpdate(lines: readonly string[], from: number, path: string): Parsed {
  let at = from
  const moveTo = /^\*\*\* Move to:(.*)$/.exec(lines[at]?.trimEnd() ?? "")?.[1]?.trim()
  if (moveTo === "") throw malformed(`Line ${at + 1} of the patch, ${shown(lines[at] ?? "")}, does not name a file.`)
  if (moveTo !== undefined) at++
  // Lines of the other format that repeat the same information.
  if (lines[at]?.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) at += 2
  const hunks: Hunk[] = []
  for (let line = lines[at]; line !== undefined && !isMarker(line); line = lines[at]) {
    if (line.trim() === "") {
      at++
      continue
    }
    const [hunk, next] = parseHunk(lines, at, path)
    hunks.push(hunk)
    at = next
  }
  if (hunks.length === 0 && moveTo === undefined) throw malformed(`${path}: the patch contains no changes for it.`)
  return [{ kind: "update", path, hunks: withLineEnds(hunks), moveTo }, at]
}

function parseHunk(lines: readonly string[], from: number, path: string): readonly [hunk: Hunk, next: number] {
  const anchors: string[] = []
  let numbers: ReturnType<typeof numbersIn>
  let at = from
  for (; lines[at]?.startsWith("@@"); at++) {
    const header = lines[at] ?? ""
    const anchor = anchorIn(header)
    if (anchor !== undefined) anchors.push(anchor)
    numbers = numbersIn(header) ?? numbers
  }
  const body = readHunkBody(lines, at, (line) => line.startsWith("@@") || isMarker(line))
  if (body.lines.length === 0) throw malformed(`${path}: nothing follows ${shown(lines[at - 1] ?? "")}.`)
  const hunk = toHunk(body, numbers, anchors, path)
  const next = afterEnd(lines, body.next)
  return [{ ...hunk, atEnd: hunk.atEnd || next > body.next }, next]
}

function afterEnd(lines: readonly string[], at: number): number {
  return lines[at]?.trimEnd() === "*** End of File" ? at + 1 : at
}

function isMarker(line: string): boolean {
  return line.startsWith("*** ")
}
