/** Where runs are stored. The same relative layout on every store; `path` never starts or ends with a slash. */
export interface Store {
  /** The location, for people. */
  readonly location: string
  folder(path: string): Folder
  /**
   * Names directly under a path, sorted by code units; empty if nothing exists. A hint: another writer may be active.
   * A store may ignore `part` and return more: the caller filters the list again.
   */
  list(path: string, part?: ListPart): Promise<readonly string[]>
  /**
   * The same, for files that people put into a folder: symbolic links that lead out of it are neither read nor listed. Absent: the
   * store has no links.
   */
  within?(path: string): Pick<Store, "folder" | "list">
  /** The secrets of its requests, by name. The runtime masks these values. Absent: it has none. */
  credentials?(): Readonly<Record<string, string>>
  /** Rejects if the store cannot keep its guarantees. Awaited before a run is opened; the result is cached. */
  check?(): Promise<void>
}

/** The part of a listing that the caller needs. */
export interface ListPart {
  /** Only names after this one, which need not exist. */
  readonly after?: string
  /** Maximum number of names. */
  readonly limit?: number
}

/** One run's folder. Names may contain one subfolder (`inbox/000000.json`). Any failure throws `storage`. */
export interface Folder {
  readonly location: string
  read(name: string): Promise<Uint8Array | null>
  /** Linearisable with `create` and `append.open` on stores that append. */
  exists(name: string): Promise<boolean>
  list(): Promise<readonly string[]>
  /**
   * Create-only: the complete file or nothing, durable when it returns. May return `exists` for its own success after a
   * lost response.
   */
  create(name: string, bytes: Uint8Array): Promise<"created" | "exists">
  /** Last writer wins completely. For projections only, never for authoritative data. */
  replace(name: string, bytes: Uint8Array): Promise<void>
  /** Succeeds for an absent name. Only for data behind a run's tombstone or non-authoritative data. */
  delete(name: string): Promise<void>
  /** Present if appending is cheaper than creating and lookups are coherent: a local disk, memory. */
  readonly append?: Appending
}

export interface Appending {
  /**
   * Creates the file with these first bytes, which exist as soon as its name does, or returns null if it exists. Only
   * the returned file ever writes to it.
   */
  open(name: string, first: Uint8Array): Promise<AppendFile | null>
  /** The bytes after the first `offset` bytes; null if the file does not exist. */
  readFrom(name: string, offset: number): Promise<Uint8Array | null>
  /** Makes durable all bytes written to the file so far, by any writer. */
  sync(name: string): Promise<void>
  /** Makes the names in the folder and the path to it durable. */
  syncFolder(): Promise<void>
  /** CRC-32 (IEEE 802.3) of a range of bytes, where the host has a faster one than ours: shards can be megabytes long. */
  crc32?(bytes: Uint8Array, start: number, end: number): number
}

export interface AppendFile {
  /**
   * Appends. When it resolves, the whole file is durable, including its first bytes. Rejects if the write was short or
   * failed: the file must then never be written again.
   */
  write(bytes: Uint8Array): Promise<void>
  /** True if the file still exists under its name: writes to a deleted file are lost. */
  stands(): Promise<boolean>
  close(): Promise<void>
}

/** Identifies a run within a store. */
export interface RunKey {
  /** The tenant: workspaces share nothing. */
  readonly workspaceId: string
  /** A digest of store and workspace, which begins the keys made for the run. Absent: unknown, or an older version began it. */
  readonly tenant?: string | undefined
  readonly runId: string
  readonly nodeId: string
  /** An agent of the run: its id, after those of the agents above it, separated by slashes. Absent: the run itself. */
  readonly agent?: string
}
