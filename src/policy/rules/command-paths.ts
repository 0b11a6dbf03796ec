import type { Redirect, ShellCommand, Word } from "../shell/command-line.ts"

/** The words of a command that may be paths. `isKnown`: none of them is computed, so there are no others. */
interface NamedPaths {
  readonly named: readonly string[]
  readonly isKnown: boolean
}

/** For refusals only: most words are not paths, and a program may use others than those that it is given. */
export function pathsOfCommand(
  { words: [program, ...args], isOpen }: ShellCommand,
  redirects: readonly Redirect[],
  changesFolder: boolean,
): NamedPaths {
  const given = [...args, ...redirects.map(({ target }) => target)]
  // Without a slash the shell searches it elsewhere.
  if (program?.text.includes("/")) given.push(program)
  const isCertain = ({ text, isFixed }: Word) => isFixed && (!changesFolder || text.startsWith("/"))
  return {
    named: given.filter(isCertain).flatMap(({ text }) => partsThatMayBePaths(text)),
    isKnown: !isOpen && given.every((word) => isCertain(word) || (word.isFixed && isPlainFlag(word.text))),
  }
}

/** `if=path`, `@path`, `-fpath`, `host:path`, `a,path`. */
function partsThatMayBePaths(text: string): readonly string[] {
  const starts = [...text.matchAll(/[=@:,]/g)].slice(0, mostStarts).map(({ index }) => index + 1)
  if (/^-[A-Za-z]./.test(text)) starts.push(2)
  return [text, ...starts.map((start) => text.slice(start)).filter((part) => part !== "")]
}

const mostStarts = 8

function isPlainFlag(text: string): boolean {
  return /^-[\w-]*$/.test(text)
}
