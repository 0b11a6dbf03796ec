import * as fs from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import { LonghaulError } from "../../../contract/error.ts"
import { errnoOf } from "../errno.ts"

const fsync = promisify(fs.fsync)

/**
 * Syncs folders for many at once: runs that begin together have some in common, and a sync serves all who asked for it before
 * it began. Those who ask meanwhile go together in the next group, which is not too large: a thousand runs that all begin
 * in the same moment would also all need memory in the same moment.
 */
class FolderSyncs {
  readonly #waiting: Syncing[] = []
  #underWay = false

  sync(folders: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ folders, resolve, reject })
      if (this.#underWay) return
      this.#underWay = true
      // Whoever asks in the same tick belongs to the first group.
      queueMicrotask(() => this.#syncGroups())
    })
  }

  async #syncGroups(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, LARGEST_GROUP)
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

/** Few at a time: each holds a descriptor, and keeps a thread from the writes. Answers what went wrong with which. */
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

/** Opening and closing a local folder is a matter of microseconds: only the sync itself is worth a thread. */
async function syncOne(folder: string): Promise<void> {
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  try {
    await fsync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const LARGEST_GROUP = 256
const SYNCS_AT_ONCE = 8

/** Creates folders below one that stands, and makes each new name durable, whoever created it. */
export class DurableFolders {
  readonly #floor: string
  /** Those that stand; true once their names are durable. */
  readonly #known = new Map<string, boolean>()
  readonly #syncs = new FolderSyncs()

  constructor(root: string) {
    this.#floor = nearestFolder(root)
  }

  /** The folder stands, and its name is durable. */
  async make(path: string): Promise<void> {
    this.stand(path)
    await this.settle(path)
  }

  /** Creates what is missing of it; a matter of microseconds, so it is done at once. */
  stand(path: string): void {
    const missing = this.#chain(path, (folder) => this.#known.has(folder))
    try {
      // From the top down: what Node calls recursive begins at the bottom, and fails at each folder on its way up.
      for (const folder of missing.toReversed()) {
        makeFolder(folder)
        this.#known.set(folder, false)
      }
    } catch (error) {
      // Somebody removed what stood.
      if (errnoOf(error) !== "ENOENT" || this.#known.size === 0) throw error
      this.#known.clear()
      this.stand(path)
    }
  }

  /** Makes durable the name of a folder that stands and those above it, and what is in it `also`. */
  async settle(path: string, also?: "content"): Promise<void> {
    const unsettled = this.#chain(path, (folder) => this.#known.get(folder) === true)
    const synced = unsettled.map(dirname)
    if (also) synced.push(path)
    if (synced.length === 0) return
    await this.#syncs.sync(synced)
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    for (const folder of unsettled) this.#known.set(folder, true)
  }

  /** Makes durable which names a folder holds. */
  sync(path: string): Promise<void> {
    return this.#syncs.sync([path])
  }

  /** A folder and those above it, up to where nothing is left to do. */
  #chain(path: string, isDone: (folder: string) => boolean): string[] {
    const chain: string[] = []
    for (let folder = path; folder !== this.#floor && !isDone(folder); folder = dirname(folder)) chain.push(folder)
    return chain
  }
}

/** The path itself, or the nearest above it that there is. */
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
const MOST_KNOWN = 4096
