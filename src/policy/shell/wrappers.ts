import type { Call } from "./listing.ts"
import { reject } from "./unreadable.ts"

/** The options of a program that do not change which command it starts. All others make the line unreadable. */
export interface KnownOptions {
  /** Options without a value, or with one attached. */
  readonly flags?: RegExp
  /** Options whose value is the next word. */
  readonly values?: Readonly<Record<string, RegExp>>
}

interface Wrapper extends KnownOptions {
  /** A word between the options and the command, as the duration of `timeout`. */
  readonly operand?: RegExp
  /** Starts builtins as well. */
  readonly isBuiltin?: true
}

const DURATION = /^[\d.]+[smhd]?$/
const MODE = /^(L|\d+[KMG]?)$/

const WRAPPERS = new Map<string, Wrapper>([
  ["command", { isBuiltin: true }],
  ["exec", {}],
  ["env", {}],
  ["nohup", {}],
  ["setsid", { flags: /^(-[wf]+|--wait|--fork)$/ }],
  ["nice", { flags: /^(-\d+|-n-?\d+|--adjustment=-?\d+)$/, values: { "-n": /^-?\d+$/ } }],
  ["ionice", { flags: /^(-c\d|-n\d|-t)$/, values: { "-c": /^\d$/, "-n": /^\d$/ } }],
  ["stdbuf", { flags: /^-[ioe](L|\d+[KMG]?)$/, values: { "-i": MODE, "-o": MODE, "-e": MODE } }],
  [
    "timeout",
    {
      flags: /^(--foreground|--preserve-status|--signal=\w+|--kill-after=[\d.]+[smhd]?|-s[A-Z0-9]+|-k[\d.]+[smhd]?)$/,
      values: { "-s": /^\w+$/, "-k": DURATION },
      operand: DURATION,
    },
  ],
])

export const isWrapper = (name: string) => WRAPPERS.has(name)

/** The call that a wrapper makes, or undefined if it makes none. */
export function afterWrapper(call: Call, name: string): Call | undefined {
  const wrapper = WRAPPERS.get(name) ?? {}
  const variables = [...call.variables]
  let at = name === "env" ? afterEnvironment(call, variables) : afterOptions(call, name, wrapper)
  if (wrapper.operand !== undefined) {
    const operand = call.words[at++]
    if (!operand?.isFixed || !wrapper.operand.test(operand.text)) reject(`${name} has arguments that are not known`)
  }
  const words = call.words.slice(at)
  if (words.length === 0 && call.isOpen) reject(`the command behind ${name} is not in the line`)
  const isProgram = call.isProgram || !wrapper.isBuiltin
  return words.length === 0 ? undefined : { words, isOpen: call.isOpen, variables, isProgram }
}

/** The index of the first word that is not an option. A computed word may be an option, or several. */
export function afterOptions(call: Call, name: string, { flags, values = {} }: KnownOptions): number {
  let at = 1
  for (let word = call.words[at]; word !== undefined; word = call.words[++at]) {
    if (!word.isFixed) reject(`${name} has computed arguments before its command`)
    // dash and bash differ in whether `exec` knows `--`.
    if (word.text === "--" && name !== "exec") return at + 1
    if (!word.text.startsWith("-")) return at
    if (flags?.test(word.text)) continue
    const pattern = Object.hasOwn(values, word.text) ? values[word.text] : undefined
    const value = call.words[at + 1]
    if (!pattern || !value?.isOne || (value.isFixed && !pattern.test(value.text))) {
      reject(`${name} ${word.text} is not a known option`)
    }
    if (!value.isFixed && pattern.source !== /^/.source) reject(`${name} ${word.text} has a computed value`)
    at++
  }
  return at
}

/** Skips `-u NAME` and `NAME=value` of `env`, and adds the names. */
function afterEnvironment({ words }: Call, variables: string[]): number {
  let at = 1
  for (let word = words[at]; word !== undefined; word = words[++at]) {
    const name = /^([A-Za-z_]\w*)=/.exec(word.text)?.[1]
    const unset = words[at + 1]
    if (name !== undefined && word.isOne) variables.push(name)
    else if (!word.isFixed) reject("env has computed arguments before its command")
    else if (word.text.includes("=")) reject("env sets a variable with an unusual name")
    else if (word.text === "-u" && unset?.isFixed) {
      variables.push(unset.text)
      at++
    } else if (word.text.startsWith("-")) reject(`env ${word.text} is not a known option`)
    else return at
  }
  return at
}
