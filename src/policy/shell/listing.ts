import type { Redirect, ShellCommand, Word } from "./command-line.ts"
import { reject } from "./unreadable.ts"

const MAX_COMMANDS = 200

/** A word while it is read. `isOne`: it becomes exactly one argument, whatever it expands to. */
export interface ReadWord extends Word {
  readonly isOne: boolean
}

/** A program or builtin that is about to be started. `variables` are those that are set for it alone. */
export interface Call {
  readonly words: readonly ReadWord[]
  readonly isOpen: boolean
  readonly variables: readonly string[]
  /** True behind `env`, `xargs` and the like, which start programs and know no builtins. */
  readonly isProgram: boolean
}

/** Everything that was found in a line so far. */
export class Listing {
  readonly redirects: Redirect[] = []
  /** Variables that are set for the rest of the line, hence counted for every command of it. */
  readonly lineVariables = new Set<string>()
  changesFolder = false
  hereDocuments = 0
  hereDocumentsInSubstitutions = 0
  readonly #commands: ShellCommand[] = []

  add(words: readonly Word[], isOpen: boolean, variables: readonly string[]): void {
    if (this.#commands.length === MAX_COMMANDS) reject(`it has more than ${MAX_COMMANDS} commands`)
    this.#commands.push({ words: words.map(({ text, isFixed }) => ({ text, isFixed })), isOpen, variables })
  }

  addRedirect(access: Redirect["access"], { text, isFixed }: Word): void {
    this.redirects.push({ access, target: { text, isFixed } })
  }

  get commands(): readonly ShellCommand[] {
    if (this.lineVariables.size === 0) return this.#commands
    return this.#commands.map((command) => ({
      ...command,
      variables: [...new Set([...command.variables, ...this.lineVariables])],
    }))
  }
}
