/** A shell command line: every command that it can run, or the reason why that cannot be determined. */
export type CommandLine = ReadableLine | UnreadableLine

export interface ReadableLine {
  readonly isReadable: true
  /**
   * Every command in any branch, substitution or nested script, including those behind `env`, `xargs` and `sh -c`, in no
   * order. Empty if the line only assigns variables or opens files.
   */
  readonly commands: readonly ShellCommand[]
  readonly redirects: readonly Redirect[]
  /** A `cd` makes relative paths of the line unknown. */
  readonly changesFolder: boolean
}

export interface UnreadableLine {
  readonly isReadable: false
  readonly reason: string
}

export interface ShellCommand {
  /** The program first. Its name is always fixed. */
  readonly words: readonly Word[]
  /** More words follow that are not in the line, as with `xargs`. */
  readonly isOpen: boolean
  /** Names of the variables that are set for this command and can change what it does. */
  readonly variables: readonly string[]
}

/**
 * `isFixed`: nothing in it expands, and `text` is exactly what the program receives. Otherwise `text` is its source, and it
 * may become any number of arguments.
 */
export interface Word {
  readonly text: string
  readonly isFixed: boolean
}

export interface Redirect {
  readonly access: "read" | "write"
  readonly target: Word
}
