import type { CommandLine, Redirect, ShellCommand, Word } from "./command-line.ts"

/** Reads plain words, separators and redirects; everything else is unreadable. */
export function readCommandLine(line: string): CommandLine {
  if (/[`(){}\\"';\n\r\t]|\$\(|<<|&>|[<>]&/.test(line.replaceAll("; ", "  "))) {
    return { isReadable: false, reason: "it is not plain" }
  }
  const redirects: Redirect[] = []
  const commands: ShellCommand[] = []
  for (const text of line.split(/&&|\|\||\||; /)) {
    const rest = text.replaceAll(/(>>?|<)\s*(\S+)/g, (_, sign: string, target: string) => {
      redirects.push({ access: sign === "<" ? "read" : "write", target: wordOf(target) })
      return " "
    })
    const words = rest.trim().split(/\s+/).filter(Boolean)
    const variables: string[] = []
    while (/^\w+=/.test(words[0] ?? "")) variables.push((words.shift() ?? "").split("=")[0] ?? "")
    if (words.length > 0) commands.push({ words: words.map(wordOf), isOpen: false, variables })
  }
  return { isReadable: true, commands, redirects, changesFolder: commands.some(({ words }) => words[0]?.text === "cd") }
}

function wordOf(text: string): Word {
  return { text, isFixed: !/[$*?[~]/.test(text) }
}
