import { type FilePatch, type Hunk, malformed, shown } from "./file-patch.ts"
import { anchorIn, numbersIn, readHunkBody, toHunk, withLineEnds } from "./read-hunk.ts"
import { nameIn, namesInGitHeader, unquote, withoutPrefixes } from "./unified-names.ts"

/** Parses the output of `diff -u` and git: any number of files, with any mail or log text before them. */
export function parseUnified(lines: readonly string[]): readonly FilePatch[] {
  const patches: FilePatch[] = []
  let section: Section | undefined
  const close = () => {
    if (section) patches.push(toFilePatch(section))
    section = undefined
  }
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? ""
    if (line.startsWith("diff --git ")) {
      close()
      section = { hunks: [], git: namesInGitHeader(line.slice(11)) }
      at++
    } else if (isNamePair(lines, at)) {
      if (section?.names !== undefined) close()
      section ??= { hunks: [] }
      section.names = [nameIn(line.slice(4)), nameIn((lines[at + 1] ?? "").slice(4))]
      at += 2
    } else if (line.startsWith("@@")) {
      if (line.startsWith("@@@")) throw malformed("This is the diff of a merge: pass a diff against a single file.")
      if (section === undefined) throw malformed(`"--- " and "+++ " lines are missing before ${shown(line)}.`)
      const path = section.names?.find((name) => name !== null) ?? section.git?.[1] ?? "A file"
      const body = readHunkBody(lines, at + 1, (_, index) => isBoundary(lines, index))
      const anchor = anchorIn(line)
      section.hunks.push(toHunk(body, numbersIn(line), anchor === undefined ? [] : [anchor], path))
      at = body.next
    } else {
      if (section !== undefined) readMetadata(line, section)
      at++
    }
  }
  close()
  return patches
}

/** True if this line starts a file in this format. */
export function beginsUnified(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? "").startsWith("diff --git ") || isNamePair(lines, at)
}

/** Raw data of one file before it is interpreted. */
interface Section {
  readonly hunks: Hunk[]
  readonly git?: readonly [oldName: string, newName: string] | undefined
  names?: readonly [oldName: string | null, newName: string | null]
  isNew?: boolean
  isDeleted?: boolean
  from?: string
  to?: string
  copy?: boolean
  mode?: string
}

function isNamePair(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? "").startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ")
}

/** A removed line may look like a file name: it is one only before a hunk. */
function isBoundary(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ""
  if (isNamePair(lines, at)) return (lines[at + 2] ?? "").startsWith("@@")
  return line.startsWith("@@") || /^(diff -|Index: |Only in |From [0-9a-f]{7,} )/.test(line)
}

function readMetadata(line: string, section: Section): void {
  const [, key, value = ""] = metadata.exec(line.trimEnd()) ?? []
  if (key === "Binary files" || key === "GIT binary patch") {
    throw malformed(`${section.git?.[1] ?? "A file"} has a binary patch: only text is supported.`)
  }
  if (key === "new file mode") section.isNew = true
  if (key === "deleted file mode") section.isDeleted = true
  if (key === "new file mode" || key === "new mode") section.mode = value
  if (key === "copy from" || key === "rename from") section.from = bareName(value)
  if (key === "copy to" || key === "rename to") section.to = bareName(value)
  if (key === "copy from") section.copy = true
}

const metadata =
  /^(Binary files|GIT binary patch|new file mode|deleted file mode|new mode|(?:copy|rename) (?:from|to))(?: (.*))?$/

function bareName(name: string): string {
  return name.startsWith('"') ? unquote(name) : name
}

function toFilePatch(section: Section): FilePatch {
  const [oldName, newName] = withoutPrefixes(...(section.names ?? section.git ?? [null, null]))
  const hunks = withLineEnds(section.hunks)
  const path = newName ?? oldName ?? section.to
  if (path === undefined) throw malformed("A file in the patch has no name.")
  const remark = remarkOn(section, path)
  const common = { path, ...(remark !== undefined && { remark }) }
  if (section.isNew || (section.names && section.names[0] === null)) {
    return { ...common, kind: "add", content: newContent(hunks, path) }
  }
  if (section.isDeleted || (section.names && section.names[1] === null)) {
    return { ...common, path: oldName ?? path, kind: "delete", hunks }
  }
  if (section.from !== undefined && section.to !== undefined) {
    const { from, to, copy = false } = section
    return { ...common, path: from, kind: "update", hunks, moveTo: to, copy }
  }
  if (hunks.length === 0) throw malformed(`${path}: the patch does not change its text.`)
  const isTwoNames = oldName !== null && oldName !== path
  return { ...common, kind: "update", hunks, ...(isTwoNames && { otherPath: oldName }) }
}

/** Links and submodules cannot be created; the executable bit cannot be set. */
function remarkOn({ mode, isNew }: Section, path: string): string | undefined {
  if (mode === "120000" || mode === "160000") {
    throw malformed(`${path} is a link or submodule in the patch: only files are supported.`)
  }
  if (mode === undefined || (isNew && !mode.endsWith("755"))) return undefined
  return isNew ? "not made executable" : "its mode is unchanged"
}

function newContent(hunks: readonly Hunk[], path: string): string {
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const wrong = lines.find(({ kind }) => kind !== "add")
  if (wrong) throw malformed(`${path}: a new file cannot have old lines such as ${shown(wrong.text)}.`)
  const content = lines.map(({ text, end = "\n" }) => text + end).join("")
  return hunks.at(-1)?.finalNewline === false ? content.replace(/\r?\n$/, "") : content
}
