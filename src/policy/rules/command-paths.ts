import type { ReadableLine, ShellCommand, Word } from "../shell/command-line.ts"
import { changesPaths, usesOfProgram } from "../shell/programs.ts"
import type { PathUse } from "./path-pattern.ts"

/** The words of a command that may be paths. */
interface NamedPaths {
  readonly named: readonly { readonly path: string; readonly can: PathUse }[]
  /** What is done with further paths, which are not known: a word is computed, or leads elsewhere by then. */
  readonly unknown: readonly PathUse[]
}

/** For refusals only: most words are not paths, and a program may use others than those that it is given. */
export function pathsOfCommand(command: ShellCommand, line: ReadableLine): NamedPaths {
  const [program, ...args] = command.words
  const can = usesOfProgram(command)
  const given = args.map((word) => ({ word, can }))
  for (const { target, access } of line.redirects) given.push({ word: target, can: access })
  // Without a slash the shell searches it elsewhere.
  if (program?.text.includes("/")) given.push({ word: program, can: undefined })
  const isMoved = line.commands.some((each) => each !== command && changesPaths(each))
  const isHere = ({ text, isFixed }: Word) => isFixed && (!line.changesFolder || text.startsWith("/"))
  const isCertain = (word: Word) => (isHere(word) && !isMoved) || (word.isFixed && isPlainFlag(word.text))
  return {
    named: given.flatMap(({ word, can }) =>
      isHere(word) ? partsThatMayBePaths(word.text).map((path) => ({ path, can })) : [],
    ),
    unknown: [...(command.isOpen ? [can] : []), ...given.flatMap(({ word, can }) => (isCertain(word) ? [] : [can]))],
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
