/** Where runs are kept. The same relative layout on every store; `path` never starts or ends with a slash. */
export interface Store {
  /** For people: where it lies. */
  readonly location: string
  folder(path: string): Folder
  /**
   * Names directly under a path, sorted by code units; none where nothing is there. A hint: another writer may be at work.
   * A store may ignore `part` and return more: the caller cuts the list again.
   */
  list(path: string, part?: ListPart): Promise<readonly string[]>
  /** Rejects where the store cannot keep its promises. Awaited before a run is opened; what it found out it remembers. */
  check?(): Promise<void>
}

/** The part of a listing that the caller needs. */
export interface ListPart {
  /** Only names behind this one, which need not exist. */
  readonly after?: string
  /** The most names. */
  readonly limit?: number
}

/** One run's folder. Names may hold one level of subfolder (`inbox/000000.json`). Any trouble throws `storage`. */
export interface Folder {
  readonly location: string
  read(name: string): Promise<Uint8Array | null>
  /** Linearisable with `create` and `append.open` on stores that append. */
  exists(name: string): Promise<boolean>
  list(): Promise<readonly string[]>
  /** Create-only: the whole file or nothing, durable when it answers. May answer `exists` to its own lost success. */
  create(name: string, bytes: Uint8Array): Promise<"created" | "exists">
  /** Last writer wins, whole. For projections only, never for truth. */
  replace(name: string, bytes: Uint8Array): Promise<void>
  /** What is not there is deleted already. Only for what is behind a run's tombstone, or is no truth. */
  delete(name: string): Promise<void>
  /** Present where appending is cheaper than creating and looks are coherent: a local disk, memory. */
  readonly append?: Appending
}

export interface Appending {
  /**
   * Creates the file with these first bytes, which are there as soon as its name is, or returns null where it exists. Only
   * the file that this returns ever writes to it.
   */
  open(name: string, first: Uint8Array): Promise<AppendFile | null>
  /** What lies behind the first `offset` bytes; null where there is no such file. */
  readFrom(name: string, offset: number): Promise<Uint8Array | null>
  /** Makes durable what anybody wrote to the file so far. */
  sync(name: string): Promise<void>
  /** Makes durable which files there are, and the way to them. */
  syncFolder(): Promise<void>
  /** CRC-32 (IEEE 802.3) of a range of bytes, where the host has a faster one than ours: shards can be megabytes long. */
  crc32?(bytes: Uint8Array, start: number, end: number): number
}

export interface AppendFile {
  /**
   * Appends. When it resolves, all of the file is durable, its first bytes too. Rejects where the write was short or failed:
   * the file must then never be written again.
   */
  write(bytes: Uint8Array): Promise<void>
  /** Whether the file is still there under its name: what is written to a deleted one is lost. */
  stands(): Promise<boolean>
  close(): Promise<void>
}

/** Names a run within a store. */
export interface RunKey {
  /** The tenant: nothing is shared across workspaces. */
  readonly workspaceId: string
  readonly runId: string
  readonly nodeId: string
}
