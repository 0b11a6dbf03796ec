/** What tools act on. Paths are as the model wrote them; the environment resolves and confines them. */
export interface Environment {
  /** Absent where there is no file system: the file tools then say so. */
  readonly files?: Files
  /** Absent where there are no processes. */
  readonly shell?: Shell
}

export interface FileEntry {
  readonly name: string
  readonly kind: "file" | "folder" | "link" | "other"
}

export interface FileInfo {
  readonly kind: FileEntry["kind"]
  readonly size: number
  readonly modifiedMs: number
  /** Another one whenever the content may have changed. Opaque. */
  readonly version: string
}

/** What a file shall be: these bytes, or gone. */
export interface FileChange {
  readonly path: string
  readonly content: Uint8Array | null
  /** What it must be before; null: it must not be there. Absent: whatever it is. */
  readonly version?: string | null
}

/**
 * A confined file system. `path` is absolute or relative to `cwd`; what leaves the roots, `.longhaul/` and longhaul's
 * own configuration are refused with a `ToolError` `denied`, a missing path with `not_found`, anything that is not a
 * regular file where one is needed with `invalid_input`. Checked on what was opened, not only on the string.
 */
export interface Files {
  /** The whole path as people write it: relative to the first root where it lies inside. */
  display(path: string, cwd: string): string
  info(path: string, cwd: string): Promise<FileInfo>
  /** At most `limit` bytes from `offset`. */
  read(path: string, cwd: string, range?: { readonly offset: number; readonly limit: number }): Promise<Uint8Array>
  list(path: string, cwd: string): Promise<readonly FileEntry[]>
  /**
   * Whole or not at all: a reader never sees half a file. Creates missing parent folders inside the roots. With a
   * `version`, a file that has another one by now is a `conflict`, and stays as it is.
   */
  write(
    path: string,
    cwd: string,
    bytes: Uint8Array,
    options?: { readonly version?: string },
  ): Promise<{ readonly created: boolean }>
  /**
   * Reads a file, changes it and writes it as a whole. Others that write it through these files wait meanwhile; a change
   * that comes from elsewhere is a `conflict`.
   */
  update(path: string, cwd: string, change: (bytes: Uint8Array) => Uint8Array): Promise<void>
  /** All of the changes or none, also where the process dies in between: then it is settled when the files are next used. */
  commit(changes: readonly FileChange[], cwd: string): Promise<void>
}

/** Runs command lines in a process group of their own. */
export interface Shell {
  /** What keeps commands inside, for people and results. */
  readonly containment: "sandbox" | "best-effort"
  /** Resolves for every ending; rejects with a `ToolError` only where the command could not be started. */
  run(command: ShellCommand): Promise<ShellResult>
  /** Starts a command that goes on after the call; `shellId` names it from now on. */
  start(command: ShellCommand): Promise<{ readonly shellId: string }>
  /** What a started command has said since the last time it was asked. */
  poll(shellId: string): Promise<ShellOutput>
  /** Stops a started command and all of its children. */
  stop(shellId: string): Promise<ShellOutput>
  /** Ends everything that still runs. */
  close(): Promise<void>
}

export interface ShellCommand {
  readonly command: string
  readonly cwd: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Heard as it comes: what was said since the last time, bounded. */
  readonly onOutput?: (text: string) => void
}

export interface ShellOutput {
  /** Standard output and error in the order in which they came: the first and the last part where it was too long. */
  readonly text: string
  /** How many bytes there were in all. */
  readonly bytes: number
  /** Where the whole output is, if it did not fit. */
  readonly spillPath?: string
  /** Null while it runs, or where a signal ended it. */
  readonly exitCode: number | null
  readonly running: boolean
}

export interface ShellResult extends ShellOutput {
  readonly endedBy: "exit" | "signal" | "timeout" | "abort"
  readonly signalName?: string
  readonly durationMs: number
}
