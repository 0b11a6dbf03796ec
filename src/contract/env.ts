/** What tools act on. Paths are as the model wrote them; the environment resolves and confines them. */
export interface Environment {
  /** Absent where there is no file system: the file tools then say so. */
  readonly files?: Files
}

export interface FileEntry {
  readonly name: string
  readonly kind: "file" | "folder" | "link" | "other"
}

export interface FileInfo {
  readonly kind: FileEntry["kind"]
  readonly size: number
  readonly modifiedMs: number
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
  /** Whole or not at all: a reader never sees half a file. Creates missing parent folders inside the roots. */
  write(path: string, cwd: string, bytes: Uint8Array): Promise<{ readonly created: boolean }>
}
