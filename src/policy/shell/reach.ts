import type { ShellCommand } from "./command-line.ts"
import { foldersOf, pathsIn } from "./programs.ts"
import { gitCommands, programs, type Reaching } from "./reaching-programs.ts"

/** The reach of a command beyond the paths and programs that its words name. */
export interface Reach {
  /** It reads everything below these paths. */
  readonly below: readonly string[]
  /** It changes, moves or removes everything below these paths. */
  readonly changes: readonly string[]
  /** An option, or a word of its own language, makes it start other programs or open other files. */
  readonly starts: boolean
}

/** Interpreters and builders are not here: they can do anything, and are a third of all commands. */
export function reachOf(command: ShellCommand): Reach {
  const [program, ...args] = command.words
  const name = (program?.text ?? "").replace(/^.*\//s, "").toLowerCase()
  const texts = args.map(({ text }) => text)
  const folders = foldersOf(command)
  if (name !== "git") return reach(programs.get(name), texts, folders)
  let at = 0
  while (texts[at]?.startsWith("-")) at += texts[at] === "-C" ? 2 : 1
  return reach(gitCommands.get(texts[at] ?? ""), texts.slice(at + 1), folders)
}

const nothing: Reach = { below: [], changes: [], starts: false }

function reach(program: Reaching | undefined, given: readonly string[], folders: readonly string[]): Reach {
  if (program === undefined) return nothing
  const { below, changes, starts, quiet } = program
  const [first = "", ...rest] = given
  // As `tar cf x`.
  const args = program.hasLetters === true && /^[A-Za-z]+$/.test(first) ? [`-${first}`, ...rest] : given
  const has = (fits: RegExp | true | undefined) =>
    fits === true || (fits !== undefined && args.some((word) => fits.test(word)))
  const isQuiet = has(quiet)
  return {
    below: has(below) && !isQuiet ? placesOf(program, args, folders) : [],
    changes: has(changes) && !isQuiet ? changedPlaces(program, args, folders) : [],
    starts: typeof starts === "function" ? starts(args) : has(starts),
  }
}

function placesOf(
  { skip = 0, here, values, hasTarget = false }: Reaching,
  args: readonly string[],
  folders: readonly string[],
): readonly string[] {
  const isValue = (index: number) => index > 0 && values?.test(args[index - 1] ?? "") === true
  const operands = args.filter((word, index) => !/^-./.test(word) && !isValue(index))
  // Before `--`, what git is given may be revisions.
  const end = args.indexOf("--")
  const named = here !== "always" ? operands.slice(skip) : end === -1 ? [] : args.slice(end + 1)
  const isTargetNamed = args.some((word) => /^(-[A-Za-z]*t|--target)/.test(word))
  const sources = hasTarget && !isTargetNamed && named.length > 1 ? named.slice(0, -1) : named
  const paths = sources.length === 0 && here !== undefined ? ["."] : sources
  // Some programs expand patterns themselves.
  return paths.flatMap((path) => pathsIn(folders, /[*?[]|^:/.test(path) ? "." : path))
}

function changedPlaces(program: Reaching, args: readonly string[], folders: readonly string[]): readonly string[] {
  const { into } = program
  if (into === undefined) return placesOf(program, args, folders)
  const named = args.flatMap((word, index) => {
    const [, given] = into.exec(word) ?? []
    return given === undefined ? [] : [given === "" ? (args[index + 1] ?? ".") : given]
  })
  return named.length > 0 ? named : folders
}
