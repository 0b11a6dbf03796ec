/** What tools act on. Paths are as the model wrote them; the environment resolves and confines them. */
export interface Environment {
  /** Absent where there is no file system: the file tools then say so. */
  readonly files?: Files
  /** Absent where all files must be read to be searched. */
  readonly search?: Search
  /** Absent where there are no processes. */
  readonly shell?: Shell
  /** Absent where tools have no access to the web. */
  readonly fetch?: GuardedFetch
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
  /** Where the file is new: another one whose permissions it takes, as one that moves keeps its own. */
  readonly like?: string
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
  /**
   * All of the changes or none, also where the process dies in between: then it is settled when the files are next used.
   * The same file twice, or one below another, is `invalid_input`.
   */
  commit(changes: readonly FileChange[], cwd: string): Promise<void>
}

/**
 * Finds the files that are worth reading for a pattern: all in which it matches, and perhaps others. Whoever asked reads
 * them and has the last word, so an environment may use whatever searcher it has.
 */
export interface Search {
  /** Undefined where it cannot be told: then all files are to be read. Rejects only where it was aborted. */
  find(request: SearchRequest): Promise<FoundFiles | undefined>
}

export interface SearchRequest {
  /** A folder. Links below it are not followed. */
  readonly path: string
  readonly cwd: string
  /** In RE2 syntax; about the decoded text. */
  readonly pattern: string
  readonly ignoreCase: boolean
  /** Whether a match may span lines; `^` and `$` are the ends of lines either way. */
  readonly multiline: boolean
  /** Only files with a name like one of these globs; empty: all. */
  readonly names: readonly string[]
  /** Names of folders that are not entered. */
  readonly skippedFolders: readonly string[]
  readonly maxFileBytes: number
  readonly signal: AbortSignal
}

/** Paths start in the folder and come in no order. What ignore files in the folder or below it name is left out. */
export interface FoundFiles {
  readonly paths: readonly string[]
  /** What could not be looked into. */
  readonly unreadable: readonly string[]
  /** One of the paths; undefined where it is not there any more, or is not what was found. */
  read(path: string, limit: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

/** Runs command lines, each in a process group of its own, without input and without a terminal. */
export interface Shell {
  /**
   * What keeps commands inside, for people and results. `sandbox`: nothing that a command started outlives it.
   * `best-effort`: all that can be found is ended. Known with the first command; until then the weaker of the two.
   */
  readonly containment: "sandbox" | "best-effort"
  /** Resolves for every ending; rejects with a `ToolError` only where the command could not be started. */
  run(command: ShellCommand): Promise<ShellResult>
  /** Starts a command that goes on after the call; `shellId` names it from now on. It has no timeout. */
  start(command: Omit<ShellCommand, "timeoutMs">): Promise<{ readonly shellId: string }>
  /** What a started command has said since the last time it was asked. An unknown one is `not_found`. */
  poll(shellId: string): Promise<ShellOutput>
  /** Stops a started command and all of its children. */
  stop(shellId: string): Promise<ShellOutput>
  /** Ends everything that still runs. */
  close(): Promise<void>
}

export interface ShellCommand {
  readonly command: string
  /** Refused with `denied` where it lies outside the folders that commands work in. */
  readonly cwd: string
  readonly timeoutMs: number
  /** Ends the command and all that it started, whenever it aborts. */
  readonly signal: AbortSignal
  /** The most bytes of output in one answer; a longer one goes to a file as a whole. Default 64 KB. */
  readonly maxOutputBytes?: number
  /**
   * Where a longer output goes, created when it is needed. A sandboxed command may read this folder. Default: a folder that
   * all commands of the shell share.
   */
  readonly outputFolder?: string
  /** Heard as it comes: what was said since the last time, bounded. */
  readonly onOutput?: (text: string) => void
}

export interface ShellOutput {
  /** Standard output and error in the order in which they came: the first and the last part where it was too long. */
  readonly text: string
  /** How many bytes there were in all. */
  readonly bytes: number
  /** How many bytes `text` leaves out between its first and its last part. */
  readonly leftOutBytes: number
  /** Where the output is from its beginning, if it did not fit. */
  readonly spillPath?: string
  /** How much of it is there: all, unless it was larger than a file may be or the disk was full. */
  readonly spilledBytes?: number
  /**
   * How many processes the commands of an earlier process had left running: that process was killed, and the shell ended
   * them before its first command. Reported once; absent where there were none.
   */
  readonly endedLeftovers?: number
  /** Null while it runs, or where a signal ended it. */
  readonly exitCode: number | null
  readonly running: boolean
}

export interface ShellResult extends ShellOutput {
  readonly endedBy: "exit" | "signal" | "timeout" | "abort"
  readonly signalName?: string
  readonly durationMs: number
}

/**
 * The web, for tools whose addresses a model chooses. What is not public (this computer, private networks, wherever a name
 * or a redirect leads) is refused with a `ToolError` `denied`, before anything is sent there.
 */
export interface GuardedFetch {
  /** Follows redirects. Every status is an answer; where none comes, it is `io`, `timeout` or `aborted`. */
  get(url: string, options: FetchOptions): Promise<FetchedBody>
  /** The same with a body to send; a redirect is not followed, it is the answer. */
  post(url: string, body: string, options: FetchOptions): Promise<FetchedBody>
}

export interface FetchOptions {
  readonly signal: AbortSignal
  /** The most bytes of the body, unpacked: the rest is not read. */
  readonly maxBytes: number
  /** For all of it: names, redirects, body. */
  readonly timeoutMs: number
  /** Another origin that a redirect leads to sees none of them but `accept`, `accept-language` and `user-agent`. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface FetchedBody {
  /** Where the answer came from, after all redirects. */
  readonly url: string
  readonly status: number
  /** As the server says; empty where it says nothing. */
  readonly contentType: string
  /** As the server says, where it does. */
  readonly retryAfter?: string
  readonly bytes: Uint8Array
  /** There was more. */
  readonly truncated: boolean
}
