import type { ReadableLine, ShellCommand, Word } from "../shell/command-line.ts"
import { changesPaths, foldersOf, pathsIn, usesOfProgram } from "../shell/programs.ts"
import type { PathUse } from "./path-pattern.ts"

/** The words of a command that may be paths. */
interface NamedPaths {
  readonly named: readonly { readonly path: string; readonly can: PathUse }[]
  /** The use of further paths, which are not known: a word is computed, or leads elsewhere by then. */
  readonly unknown: readonly PathUse[]
}

/** For refusals only: most words are not paths, and a program may use other paths than those that it is given. */
export function pathsOfCommand(command: ShellCommand, line: ReadableLine): NamedPaths {
  const [program, ...args] = command.words
  const can = usesOfProgram(command)
  const given = args.map((word) => ({ word, can }))
  for (const { target, access } of line.redirects) given.push({ word: target, can: access })
  // Without a slash, the shell looks it up on PATH.
  if (program?.text.includes("/")) given.push({ word: program, can: undefined })
  const isMoved = line.commands.some((each) => each !== command && changesPaths(each))
  const isHere = ({ text, isFixed }: Word) => isFixed && (!line.changesFolder || text.startsWith("/"))
  const isCertain = (word: Word) => (isHere(word) && !isMoved) || (word.isFixed && isPlainFlag(word.text))
  const folders = foldersOf(command)
  const namedBy = (text: string) => [...new Set(partsThatMayBePaths(text).flatMap((part) => pathsIn(folders, part)))]
  return {
    named: given.flatMap(({ word, can }) => (isHere(word) ? namedBy(word.text).map((path) => ({ path, can })) : [])),
    unknown: [...(command.isOpen ? [can] : []), ...given.flatMap(({ word, can }) => (isCertain(word) ? [] : [can]))],
  }
}

/** `if=path`, `@path;type=x`, `-fpath`, `-xfpath`, `host:path`, `path:other`, `a,path`, `:(top)path`, `open("path")`. */
function partsThatMayBePaths(text: string): readonly string[] {
  const starts = Array.from(text.matchAll(/[=@:,;|()<>"']/g), ({ index }) => index + 1).slice(0, mostStarts)
  const [letters = ""] = /^-[A-Za-z]+/.exec(text) ?? []
  for (let at = 2; at <= Math.min(letters.length, mostStarts); at++) starts.push(at)
  const rests = [text, ...starts.map((start) => text.slice(start))]
  return rests.flatMap((rest) => [rest, rest.replace(/[:,;|()<>"'].*$/s, "")]).filter((part) => part !== "")
}

const mostStarts = 8

function isPlainFlag(text: string): boolean {
  return /^-[\w-]*$/.test(text)
}
