import { checkBuiltin, isAlwaysUnreadable, isSpecialBuiltin } from "./builtins.ts"
import { findCommands } from "./find-commands.ts"
import type { Call, Listing, ReadWord } from "./listing.ts"
import { reject } from "./unreadable.ts"
import { isHarmless } from "./variables.ts"
import { afterOptions, afterWrapper, isWrapper } from "./wrappers.ts"
import { xargsCommand } from "./xargs-command.ts"

export interface CallTarget {
  readonly listing: Listing
  /** Reads a script that the call passes to a shell. `variables` are set for all of it. */
  readNested(text: string, variables: readonly string[]): void
}

const SYSTEM_FOLDER = /^\/(usr\/)?bin\/[^/]+$/
const SHELLS = new Set(["sh", "bash", "dash"])
const SCRIPT_BUILTINS = new Set(["eval", "exec", "trap", "command"])

/**
 * Adds what a call runs. Pure wrappers (`env`, `timeout`, `sh -c` …) are replaced by the command behind them, so that a
 * rule about that command applies. `xargs` and `find` do work of their own, hence are listed beside their commands.
 * `inherited` are the variables of the script around the call.
 */
export function listCall(call: Call, inherited: readonly string[], target: CallTarget): void {
  const [program] = call.words
  if (program === undefined) return
  if (!program.isFixed) reject(`the name of a program is computed (${program.text})`)
  const name = program.text.slice(program.text.lastIndexOf("/") + 1)
  if (isAlwaysUnreadable(name)) reject(`what ${name} runs or changes cannot be determined`)
  if (SCRIPT_BUILTINS.has(name) && (call.isProgram || program.text !== name)) {
    reject(`${program.text} is a program with the name of a builtin`)
  }
  // The shell keeps these variables after such a builtin.
  if (isSpecialBuiltin(name)) for (const variable of call.variables) target.listing.lineVariables.add(variable)

  const inner = (next: Call) => listCall(next, inherited, target)
  const own = () => {
    const variables = [...inherited, ...call.variables.filter((each) => !isHarmless(each))]
    target.listing.add(call.words, call.isOpen, variables)
  }

  const isReplaced = isWrapper(name) || SHELLS.has(name)
  // A program of that name elsewhere may do anything; as its own command it would be as hard to allow as to deny.
  if (isReplaced && program.text !== name && !SYSTEM_FOLDER.test(program.text)) {
    reject(`${program.text} is not known to be the ${name} of the system`)
  }
  const text = nestedScript(call, name)
  const next = isWrapper(name) && !isQuestion(call) ? afterWrapper(call, name) : undefined
  if (text !== undefined) target.readNested(text, [...inherited, ...call.variables])
  else if (next !== undefined) inner(next)
  // Without a program, `exec` only redirects the shell itself.
  else if (name !== "exec") own()
  if (name === "xargs") inner(xargsCommand(call))
  else if (name === "find") for (const each of findCommands(call, target.listing)) inner(each)
  else if (name === "git") checkGit(call)
  else if (!call.isProgram) checkBuiltin(name, call.words.slice(1), target.listing)
}

/** `command -v` only looks a program up. */
function isQuestion({ words: [name, option] }: Call): boolean {
  return name?.text === "command" && option?.isFixed === true && /^-[vV]$/.test(option.text)
}

function nestedScript(call: Call, name: string): string | undefined {
  if (SHELLS.has(name)) return shellScript(call, name)
  if (name === "eval") return evalScript(call)
  return name === "trap" ? trapScript(call) : undefined
}

/** A computed word is never a known text: `xargs -I --` replaces even `--`. */
function isText(word: ReadWord | undefined, text: string): boolean {
  return word?.isFixed === true && word.text === text
}

/** The text after `-c`. A script in a file, or on standard input, is not in the line. */
function shellScript(call: Call, name: string): string {
  let at = 1
  let hasText = false
  for (let word = call.words[at]; word !== undefined; word = call.words[++at]) {
    if (word.isFixed && /^-[eu]*c?[eu]*$/.test(word.text) && word.text !== "-") hasText ||= word.text.includes("c")
    else if (word.isFixed && /^-[eu]*o$/.test(word.text) && isText(call.words[at + 1], "pipefail")) at++
    else break
  }
  if (isText(call.words[at], "--")) at++
  const text = call.words[at]
  if (!hasText) reject(`${name} runs a script that is not in the line`)
  if (text === undefined || !text.isFixed) return reject(`the script of ${name} -c is computed`)
  if (/^[+-]/.test(text.text)) reject(`${name} has options that are not known`)
  return text.text
}

function evalScript({ words }: Call): string {
  const args = words.slice(1)
  if (args.some(({ isFixed }) => !isFixed)) reject("the script of eval is computed")
  if (args[0]?.text.startsWith("-")) reject("eval has options that are not known")
  return args.map(({ text }) => text).join(" ")
}

/** `trap` alone prints, and `-` restores: both run nothing. */
function trapScript({ words }: Call): string | undefined {
  const action = isText(words[1], "--") ? words[2] : words[1]
  if (action === undefined || isText(action, "-")) return undefined
  if (!action.isFixed) reject("the script of trap is computed")
  if (action.text.startsWith("-")) reject("trap has options that are not known")
  return action.text
}

/** Options before git's command can define one (`-c alias.x=!…`). */
function checkGit(call: Call): void {
  const at = afterOptions(call, "git", { flags: /^--no-pager$/, values: { "-C": /^/ } })
  const command = call.words[at]
  if (command === undefined ? call.isOpen : !command.isFixed) reject("the command of git is computed")
}
