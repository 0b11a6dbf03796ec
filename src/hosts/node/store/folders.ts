import * as fs from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import { LonghaulError } from "../../../contract/error.ts"
import { errnoOf } from "../errno.ts"

const fsync = promisify(fs.fsync)

/**
 * Syncs folders in batches: runs that start together share folders, and a sync serves all earlier requests. Requests
 * during a sync form the next batch, whose size is limited: a thousand simultaneous runs would otherwise all need
 * memory at the same time.
 */
class FolderSyncs {
  readonly #waiting: Syncing[] = []
  #underWay = false

  sync(folders: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ folders, resolve, reject })
      if (this.#underWay) return
      this.#underWay = true
      // Requests in the same tick belong to the first batch.
      queueMicrotask(() => this.#syncGroups())
    })
  }

  async #syncGroups(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP_SIZE)
      const failures = await syncAll(new Set(group.flatMap(({ folders }) => folders)))
      for (const { folders, resolve, reject } of group) {
        const failed = folders.find((folder) => failures.has(folder))
        if (failed === undefined) resolve()
        else reject(failures.get(failed))
      }
    }
    this.#underWay = false
  }
}

interface Syncing {
  readonly folders: readonly string[]
  resolve(): void
  reject(error: unknown): void
}

/** Few at a time: each holds a descriptor, and keeps a thread from the writes. Returns the failures. */
async function syncAll(folders: Iterable<string>): Promise<ReadonlyMap<string, unknown>> {
  const failures = new Map<string, unknown>()
  const next = folders[Symbol.iterator]()
  const syncNext = async () => {
    for (let each = next.next(); !each.done; each = next.next()) {
      await syncOne(each.value).catch((error) => failures.set(each.value, error))
    }
  }
  await Promise.all(Array.from({ length: SYNCS_AT_ONCE }, syncNext))
  return failures
}

/** Opening and closing a local folder takes microseconds: only the sync itself is worth a thread. */
async function syncOne(folder: string): Promise<void> {
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  try {
    await fsync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const MAX_GROUP_SIZE = 256
const SYNCS_AT_ONCE = 8

/** Creates folders below an existing one, and makes each new name durable, whichever process created it. */
export class DurableFolders {
  readonly #floor: string
  /** Existing folders; true once their names are durable. */
  readonly #known = new Map<string, boolean>()
  readonly #syncs = new FolderSyncs()

  constructor(root: string) {
    this.#floor = nearestFolder(root)
  }

  /** The folder exists, and its name is durable. */
  async make(path: string): Promise<void> {
    this.stand(path)
    await this.settle(path)
  }

  /** Creates missing folders synchronously, because it takes microseconds. */
  stand(path: string): void {
    const missing = this.#chain(path, (folder) => this.#known.has(folder))
    try {
      // From the top down: Node's recursive mode starts at the bottom, and fails at each folder on its way up.
      for (const folder of missing.toReversed()) {
        makeFolder(folder)
        this.#known.set(folder, false)
      }
    } catch (error) {
      // Another process removed a known folder.
      if (errnoOf(error) !== "ENOENT" || this.#known.size === 0) throw error
      this.#known.clear()
      this.stand(path)
    }
  }

  /** Makes the name of an existing folder and its ancestors durable, and `also` its content. */
  async settle(path: string, also?: "content"): Promise<void> {
    const unsettled = this.#chain(path, (folder) => this.#known.get(folder) === true)
    const synced = unsettled.map(dirname)
    if (also) synced.push(path)
    if (synced.length === 0) return
    await this.#syncs.sync(synced)
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    for (const folder of unsettled) this.#known.set(folder, true)
  }

  /** Makes the names in a folder durable. */
  sync(path: string): Promise<void> {
    return this.#syncs.sync([path])
  }

  /** A folder and its ancestors, up to the first finished one. */
  #chain(path: string, isDone: (folder: string) => boolean): string[] {
    const chain: string[] = []
    for (let folder = path; folder !== this.#floor && !isDone(folder); folder = dirname(folder)) chain.push(folder)
    return chain
  }
}

/** The path itself, or its nearest existing ancestor. */
export function nearestFolder(path: string): string {
  let existing = path
  try {
    while (fs.statSync(existing, { throwIfNoEntry: false }) === undefined) existing = dirname(existing)
  } catch (error) {
    throw new LonghaulError("config_invalid", `The store's folder ${path} cannot be reached: ${errnoOf(error)}.`, {
      cause: error,
      fix: `Make every folder on the way to ${existing} searchable for this user, or choose another store.`,
    })
  }
  return existing
}

function makeFolder(path: string): void {
  try {
    fs.mkdirSync(path, 0o700)
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error
  }
}

/** Forgetting only costs a sync; remembering every run of a long-lived process would cost memory. */
const MAX_KNOWN = 4096
