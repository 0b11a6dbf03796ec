import type { ShellCommand, Word } from "../shell/command-line.ts"
import { fold, matchesParts, matchesText } from "./glob.ts"

/** A pattern for the words of a command. */
export interface CommandPattern {
  /** The program, if the pattern names exactly one. */
  readonly program: string | undefined
  /** True only if every word is fixed and matches as written. */
  permits(command: CommandWords): boolean
  /** True if the command may be one that the pattern describes, in any spelling. */
  refuses(command: CommandWords): boolean
}

/** The words of a command, in the forms that patterns are compared with. */
export interface CommandWords {
  /** As written; undefined if a word is computed or more words follow. */
  readonly written: readonly string[] | undefined
  /** For refusals: the program by its base name, an open end as a computed word; also without the options of git. */
  readonly spellings: readonly Spelling[]
}

interface Spelling {
  readonly words: readonly Word[]
  /** Undefined if a word is computed. */
  readonly texts: readonly string[] | undefined
}

/** `*` is one word or a part of one; as the last word, and as `**` anywhere, it is any number of words. */
export function compileCommand(pattern: string): CommandPattern {
  const given = pattern.trim().split(/\s+/)
  const words = given.map((word, index) => (word === "*" && index > 0 && index === given.length - 1 ? "**" : word))
  const [first = "", ...rest] = words
  const refused = [programName(first), ...rest]
  const flags = flagPattern(refused)
  return {
    program: first.includes("*") ? undefined : first,
    permits: ({ written }) => written !== undefined && matchesParts(words, written),
    refuses: ({ spellings }) => spellings.some((each) => matchesWords(refused, each) || flags?.(each.words) === true),
  }
}

export function wordsOf({ words, isOpen }: ShellCommand): CommandWords {
  const isFixed = !isOpen && words.every((word) => word.isFixed)
  const [program, ...rest] = words
  const named = program === undefined ? [] : [{ ...program, text: programName(program.text) }]
  const spelled = [...named, ...rest, ...(isOpen ? [computed] : [])]
  const inner = withoutGitOptions(spelled)
  return {
    written: isFixed ? textsOf(words) : undefined,
    spellings: (inner === undefined ? [spelled] : [spelled, inner]).map((each) => ({
      words: each,
      texts: isFixed ? textsOf(each) : undefined,
    })),
  }
}

/** The name of a program for refusals: `/bin/rm` is `rm`, and so is `RM` on some file systems. */
export function programName(program: string): string {
  return fold(program.slice(program.lastIndexOf("/") + 1))
}

function textsOf(words: readonly Word[]): readonly string[] {
  return words.map(({ text }) => text)
}

const computed: Word = { text: "", isFixed: false }

/** Both sides can be of any length: a `**` of the pattern, and a computed word, which may become several or none. */
function matchesWords(pattern: readonly string[], { words, texts }: Spelling): boolean {
  if (texts !== undefined) return matchesParts(pattern, texts)
  // reached[i]: the first i words of the pattern match the words so far.
  let reached = closed(pattern, [true, ...pattern.map(() => false)])
  for (const word of words) {
    const next = pattern.map((part, index) => {
      const before = reached[index] === true
      return part !== "**" && word.isFixed && before && matchesText(part, word.text)
    })
    next.unshift(false)
    for (const [index, isReached] of reached.entries()) {
      if (!isReached) continue
      // A `**` swallows the word.
      if (index > 0 && pattern[index - 1] === "**") next[index] = true
      // A computed word is any words of the pattern.
      if (!word.isFixed) for (let later = index; later <= pattern.length; later++) next[later] = true
    }
    reached = closed(pattern, next)
    if (!reached.includes(true)) return false
  }
  return reached[pattern.length] === true
}

/** A `**` may be no word at all. */
function closed(pattern: readonly string[], reached: boolean[]): boolean[] {
  for (const [index, part] of pattern.entries()) if (part === "**" && reached[index]) reached[index + 1] = true
  return reached
}

/** `git -C folder push` is `git push`. Undefined if there is nothing to omit. */
function withoutGitOptions(words: readonly Word[]): readonly Word[] | undefined {
  if (words[0]?.text !== "git") return undefined
  let at = 1
  for (let word = words[at]; word?.text.startsWith("-"); word = words[at]) at += word.text === "-C" ? 2 : 1
  return at === 1 ? undefined : [words[0], ...words.slice(at)]
}

/**
 * Options can be given in any order and together: `rm -fr x` and `rm x -r -f` are `rm -rf x`. Undefined if the pattern
 * has no options.
 */
function flagPattern(pattern: readonly string[]): ((words: readonly Word[]) => boolean) | undefined {
  const wanted = pattern.filter(isFlag).flatMap(flagsIn)
  if (wanted.length === 0 || wanted.some((flag) => flag.includes("*"))) return undefined
  const operands = pattern.filter((word) => !isFlag(word))
  const isOpen = operands.includes("**")
  return (words) => {
    const given = words.filter(({ text, isFixed }) => isFixed && isFlag(text)).flatMap(({ text }) => flagsIn(text))
    const hasAll = wanted.every((flag) => given.some((each) => isSameFlag(flag, each)))
    const hasOthers = given.some((flag) => !wanted.some((each) => isSameFlag(each, flag)))
    if (!hasAll || (hasOthers && !isOpen)) return false
    const others = words.filter(({ text, isFixed }) => !isFixed || !isFlag(text))
    return matchesWords(operands, { words: others, texts: undefined })
  }
}

function isFlag(word: string): boolean {
  return /^-[^-]|^--./.test(word)
}

/** `-rf` is `-r -f`, or one option with a long name. */
function flagsIn(word: string): readonly string[] {
  if (word.startsWith("--")) return [word.split("=", 1)[0] ?? word]
  return /^-[A-Za-z]+$/.test(word) ? Array.from(word.slice(1), (letter) => `-${letter}`) : [word]
}

/** Programs accept the beginning of a long option, such as `--forc`. */
function isSameFlag(wanted: string, given: string): boolean {
  return wanted === given || (given.length > 3 && given.startsWith("--") && wanted.startsWith(given))
}
