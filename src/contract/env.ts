/** The environment of tools. Paths are as the model wrote them; the environment resolves and confines them. */
export interface Environment {
  /** Absent without a file system: the file tools then report it. */
  readonly files?: Files
  /** Absent if all files must be read for a search. */
  readonly search?: Search
  /** Absent without processes. */
  readonly shell?: Shell
  /** Absent if tools have no web access. */
  readonly fetch?: GuardedFetch
}

/** Checks the real path of a file or folder that is opened: throws a `ToolError` to refuse it. */
export type FileGuard = (real: string, access: "read" | "write") => void

export interface FileEntry {
  readonly name: string
  readonly kind: "file" | "folder" | "link" | "other"
}

export interface FileInfo {
  readonly kind: FileEntry["kind"]
  readonly size: number
  readonly modifiedMs: number
  /** Changes whenever the content may have changed. Opaque. */
  readonly version: string
}

/** The new state of a file: these bytes, or deleted. */
export interface FileChange {
  readonly path: string
  readonly content: Uint8Array | null
  /** The required previous version; null: it must not exist. Absent: any. */
  readonly version?: string | null
  /** For a new file: another file whose permissions it gets, so that a moved file keeps its own. */
  readonly like?: string
}

/**
 * A confined file system. `path` is absolute or relative to `cwd`. Paths outside the roots, `.longhaul/` and longhaul's
 * own configuration are rejected with a `ToolError` `denied`, a missing path with `not_found`, and anything other than
 * a regular file where one is needed with `invalid_input`. Checked on the opened file, not only on the string.
 * `.longhaul/skills` of a root can be read.
 */
export interface Files {
  /**
   * The same files, where `guard` checks everything that is opened, by the path that the kernel has for it: what is read, listed,
   * written or removed. Absent: paths can only be checked before they are opened.
   */
  guarded?(guard: FileGuard): Files
  /** The whole path for display: relative to the first root if it is inside. */
  display(path: string, cwd: string): string
  info(path: string, cwd: string): Promise<FileInfo>
  /** At most `limit` bytes from `offset`. */
  read(path: string, cwd: string, range?: { readonly offset: number; readonly limit: number }): Promise<Uint8Array>
  list(path: string, cwd: string): Promise<readonly FileEntry[]>
  /**
   * Atomic: a reader never sees a partial file. Creates missing parent folders inside the roots. With a `version`, a file
   * that has another version by now is a `conflict` and stays unchanged.
   */
  write(
    path: string,
    cwd: string,
    bytes: Uint8Array,
    options?: { readonly version?: string },
  ): Promise<{ readonly created: boolean }>
  /**
   * Reads a file, changes it and writes it completely. Other writers through these files wait; a change from elsewhere
   * is a `conflict`.
   */
  update(path: string, cwd: string, change: (bytes: Uint8Array) => Uint8Array): Promise<void>
  /**
   * All changes or none, even if the process dies in between: it is then settled when the files are next used. The same
   * file twice, or one below another, is `invalid_input`.
   */
  commit(changes: readonly FileChange[], cwd: string): Promise<void>
}

/**
 * Finds candidate files for a pattern: all files in which it matches, and perhaps others. The caller reads them and
 * decides, so an environment may use any search program.
 */
export interface Search {
  /** The same search, where `guard` checks the folder and every file that is found. Absent: all files must be read. */
  guarded?(guard: FileGuard): Search
  /** Undefined if it cannot search: then all files must be read. Rejects only if it was aborted. */
  find(request: SearchRequest): Promise<FoundFiles | undefined>
}

export interface SearchRequest {
  /** A folder. Links below it are not followed. */
  readonly path: string
  readonly cwd: string
  /** In RE2 syntax, matched against the decoded text. */
  readonly pattern: string
  readonly ignoreCase: boolean
  /** True if a match may span lines; `^` and `$` match at line ends either way. */
  readonly multiline: boolean
  /** Only files whose name matches one of these globs; empty: all. */
  readonly names: readonly string[]
  /** Names of folders that are skipped. */
  readonly skippedFolders: readonly string[]
  readonly maxFileBytes: number
  readonly signal: AbortSignal
}

/**
 * Paths relative to the folder, in no particular order. Files excluded by ignore files in the folder or below are
 * omitted.
 */
export interface FoundFiles {
  readonly paths: readonly string[]
  /** Paths that could not be read. */
  readonly unreadable: readonly string[]
  /** One of the paths; undefined if it no longer exists or has changed. */
  read(path: string, limit: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

/** Runs command lines, each in its own process group, without input and without a terminal. */
export interface Shell {
  /** True if commands never run without a sandbox. */
  readonly isSandboxRequired?: boolean
  /** True if its sandbox enforces the `refusals` of commands. */
  readonly hidesRefused?: boolean
  /**
   * Containment of commands, for people and results. `sandbox`: no process started by a command outlives it.
   * `best-effort`: all processes that can be found are killed. Known with the first command; until then the weaker of
   * the two.
   */
  readonly containment: "sandbox" | "best-effort"
  /** Resolves however the command ends; rejects with a `ToolError` only if it could not be started. */
  run(command: ShellCommand): Promise<ShellResult>
  /** Starts a command that keeps running after the call, identified by `shellId`. It has no timeout. */
  start(command: Omit<ShellCommand, "timeoutMs">): Promise<{ readonly shellId: string }>
  /** The output of a started command since the last poll. An unknown one is `not_found`. */
  poll(shellId: string): Promise<ShellOutput>
  /** Stops a started command and all of its children. */
  stop(shellId: string): Promise<ShellOutput>
  /** Kills everything that still runs. */
  close(): Promise<void>
}

export interface ShellCommand {
  readonly command: string
  /** Rejected with `denied` if it is outside the folders of commands. */
  readonly cwd: string
  readonly timeoutMs: number
  /** Kills the command and its child processes when it aborts. */
  readonly signal: AbortSignal
  /** Maximum bytes of output in one result; longer output is saved completely to a file. Default 64 KB. */
  readonly maxOutputBytes?: number
  /**
   * Folder for longer output, created when needed. A sandboxed command may read it. Default: a folder shared by all
   * commands of the shell.
   */
  readonly outputFolder?: string
  /** Receives output as it comes: the new part, bounded. */
  readonly onOutput?: (text: string) => void
  /** Masks secrets in the output before it is cut or saved. Each call returns the state of one output. */
  readonly redact?: () => PiecewiseRedaction
  /** The paths that a sandbox hides from the command, or keeps it from changing. */
  readonly refusals?: PathRefusals
}

/** The paths that rules refuse to a command: a refusal that begins at a path is for the path and for all below it. */
export interface PathRefusals {
  /** By the real path. */
  beginsAt(real: string, access: "read" | "write"): boolean
  /** False: no refusal begins below this folder. */
  mayBeginBelow(folder: string): boolean
  /** Absolute paths at or below which refusals begin that are not about the workspace. */
  readonly elsewhere: readonly string[]
}

/** Masks secrets in text that arrives in pieces; `push` may hold back an end that could be part of one. */
export interface PiecewiseRedaction {
  push(piece: string): string
  end(): string
}

export interface ShellOutput {
  /** Standard output and error in the order they were written: only the first and last part if too long. */
  readonly text: string
  /** Total number of bytes. */
  readonly bytes: number
  /** Number of bytes that `text` omits between its first and last part. */
  readonly leftOutBytes: number
  /** File with the output from its beginning, if it did not fit. */
  readonly spillPath?: string
  /** Number of bytes in the file: all, unless a file limit was reached or the disk was full. */
  readonly spilledBytes?: number
  /**
   * Number of processes that commands of an earlier, killed process had left running; the shell killed them before its
   * first command. Reported once; absent if there were none.
   */
  readonly endedLeftovers?: number
  /** Paths that `refusals` forbid to write, and that are new since the command started. Absent: none, or it still runs. */
  readonly newRefusedPaths?: readonly string[]
  /** Why the shell itself stopped the command: a file that the sandbox protected was replaced by another one. */
  readonly stoppedBecause?: string
  /** Null while it runs, or if a signal ended it. */
  readonly exitCode: number | null
  readonly running: boolean
}

export interface ShellResult extends ShellOutput {
  readonly endedBy: "exit" | "signal" | "timeout" | "abort"
  readonly signalName?: string
  readonly durationMs: number
}

/**
 * Web access for tools whose URLs a model chooses. Non-public targets (this computer, private networks, also through
 * names or redirects) are rejected with a `ToolError` `denied` before anything is sent there.
 */
export interface GuardedFetch {
  /** Follows redirects. Every status is a response; without one the error is `io`, `timeout` or `aborted`. */
  get(url: string, options: FetchOptions): Promise<FetchedBody>
  /** The same with a request body; a redirect is not followed but returned. */
  post(url: string, body: string, options: FetchOptions): Promise<FetchedBody>
  /** One request of any method; a redirect is not followed but returned. Absent: only `get` and `post` are possible. */
  send?(request: WebRequest, options: FetchOptions): Promise<WebResponse>
}

export interface WebRequest {
  readonly url: string
  readonly method: string
  readonly body?: string
  /** The target is the host's choice, not the model's, and may be in a private network. */
  readonly allowPrivate?: boolean
}

export interface WebResponse extends FetchedBody {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
}

export interface FetchOptions {
  readonly signal: AbortSignal
  /** Maximum bytes of the decompressed body: the rest is not read. */
  readonly maxBytes: number
  /** Covers everything: DNS, redirects, body. */
  readonly timeoutMs: number
  /** Called with the target of each redirect before it is requested; rejects with a `ToolError` to refuse it. */
  readonly admit?: (url: string) => Promise<void>
  /** Another origin that a redirect leads to receives only `accept`, `accept-language` and `user-agent`. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface FetchedBody {
  /** The final URL after all redirects. */
  readonly url: string
  readonly status: number
  /** As reported by the server; empty if absent. */
  readonly contentType: string
  /** As reported by the server, if present. */
  readonly retryAfter?: string
  readonly bytes: Uint8Array
  /** The body was longer. */
  readonly truncated: boolean
}
