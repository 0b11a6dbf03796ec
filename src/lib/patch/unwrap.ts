import { malformed, shown } from "./file-patch.ts"

/** The lines of a patch without its wrapping: code fences, here-documents, the command that would apply it. */
export function unwrap(patch: string): readonly string[] {
  const text = patch.replace(/^\ufeff/, "")
  // If every line ends in CRLF, that is due to the transport and says nothing about the files.
  const isCrlf = text.includes("\r\n") && !/(^|[^\r])\n/.test(text)
  let lines: readonly string[] = trimBlank((isCrlf ? text.replaceAll("\r\n", "\n") : text).split("\n"))
  for (let layers = 0; ; layers++) {
    const inner = unwrapOnce(lines)
    if (inner === undefined) return withoutSignature(lines)
    // Each layer is copied: a patch of only fences would otherwise take too long.
    if (layers === MAX_LAYERS) throw malformed(`Pass the patch without the ${MAX_LAYERS} layers around it.`)
    lines = trimBlank([...inner, ""])
  }
}

const MAX_LAYERS = 8

function unwrapOnce(lines: readonly string[]): readonly string[] | undefined {
  const first = lines[0]?.trim() ?? ""
  if (/^(```|~~~)[\w-]*$/.test(first)) {
    if (lines.length < 2 || lines.at(-1)?.trim() !== first.slice(0, 3)) throw malformed("The code fence is not closed.")
    return lines.slice(1, -1)
  }
  const [, line] = command.exec(first) ?? []
  if (line === undefined) return undefined
  if (line.startsWith("cd ")) throw malformed(`Omit ${shown(first)}: use paths relative to the working directory.`)
  if (/;|&&|\|\|/.test(line)) throw malformed(`Omit ${shown(first)}: pass nothing but the patch.`)
  const word = /<<-?\s*["']?(\w+)["']?/.exec(line)?.[1]
  if (word !== undefined) return hereDocument(lines, word)
  // Its argument may start on the same line, in quotes.
  const [, quote, begin] = /^\S+\s+(["'])(\*\*\* Begin Patch)$/.exec(line) ?? []
  if (quote === undefined || begin === undefined) return lines.slice(1)
  const last = (lines.at(-1) ?? "").trimEnd()
  return [begin, ...lines.slice(1, -1), last.endsWith(quote) ? last.slice(0, -1) : last]
}

/** A command line that applies a patch, possibly through a nested shell. */
const command = /^(?:\$ )?(?:(?:bash|sh|zsh) -\w+ ["'])?((?:cd |(?:apply_?patch|git apply|patch)\b|cat *<<).*)$/

function hereDocument(lines: readonly string[], word: string): readonly string[] {
  const end = lines.findLastIndex((line) => {
    const text = line.trim()
    return text.startsWith(word) && /^["')]*$/.test(text.slice(word.length))
  })
  if (end < 1) throw malformed(`The here-document does not end with ${shown(word)}: it may have been cut off.`)
  const behind = lines.slice(end + 1).find((line) => !/^[\s"')]*$/.test(line))
  if (behind !== undefined) throw malformed(`${shown(behind)} follows the patch: pass nothing but the patch.`)
  return lines.slice(1, end)
}

/**
 * White space may be an unchanged line: it is ignored only without a line ending, as in a patch indented in a program.
 */
function trimBlank(lines: readonly string[]): readonly string[] {
  const isNone = (line: string, at: number) =>
    line === "" || line === "\r" || (at === lines.length - 1 && line !== " " && line.trim() === "")
  const start = lines.findIndex((line) => line.trim() !== "")
  const end = lines.findLastIndex((line, at) => !isNone(line, at))
  return start === -1 ? [] : lines.slice(start, end + 1)
}

/** Git's mail signature: it would look like a removed line. */
function withoutSignature(lines: readonly string[]): readonly string[] {
  const isSigned = lines.at(-2)?.trimEnd() === "--" && /^\d+\.\d+/.test(lines.at(-1) ?? "")
  return isSigned ? lines.slice(0, -2) : lines
}
