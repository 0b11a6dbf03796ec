import { mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { JsonObject } from "../../../contract/json.ts"
import { newNonce } from "../../../lib/id.ts"
import { errnoOf } from "../errno.ts"
import { isDead, processOwner } from "../owner.ts"
import { isCoherent } from "../store/fs-store.ts"
import { closing, writeNew } from "./place-file.ts"

/** One file of a commit: the prepared file `temporary` replaces it, or it is deleted if unchanged. */
export type Step =
  | { readonly target: string; readonly temporary: string }
  | { readonly target: string; readonly removes: string }

/** Enough to finish or clean up a commit. */
export interface Plan {
  readonly steps: readonly Step[]
  /** Folders that the commit has to create, outermost first. */
  readonly folders: readonly string[]
}

/** A commit note on disk. */
export interface Note extends Plan {
  readonly path: string
  /** Committed: it is to be finished, not cleaned up. */
  readonly counts: boolean
}

/** The notes of one set of folders. A note's name identifies its owner, so an incomplete note does, too. */
export class CommitNotes {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Durable, including its path, before any described step. */
  async write(plan: Plan): Promise<Note> {
    const path = join(this.#folder, `${newNonce()}.${toWord(processOwner())}.staged.json`)
    const made = await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    try {
      await writeNew(path, new TextEncoder().encode(JSON.stringify(plan)))
      await this.sync()
      const newFrom = made?.length ?? Infinity
      for (let at = this.#folder; at.length >= newFrom; at = dirname(at)) await syncAt(dirname(at))
    } catch (error) {
      await this.drop({ path })
      throw error
    }
    return { ...plan, path, counts: false }
  }

  /** Committed from here on; after the next `sync` also across power loss. */
  async count(note: Note): Promise<Note> {
    const path = note.path.replace(/\.staged\.json$/, ".counts.json")
    await rename(note.path, path)
    return { ...note, path, counts: true }
  }

  /** Another process may finish a commit that this process could not. */
  async handOver({ path }: Note): Promise<void> {
    // If that fails, another process can take it once this process is dead.
    await rename(path, path.replace(/\.[\w-]+(?=\.\w+\.json$)/, `.${nobody}`)).catch(() => {})
  }

  /** Durably removed, or settled again by the next process, which will find nothing left to do. */
  async drop({ path }: Pick<Note, "path">): Promise<void> {
    try {
      await unlink(path)
      await this.sync()
    } catch {
      // See above.
    }
  }

  /** Notes whose owners are dead. */
  async abandoned(): Promise<readonly Note[]> {
    const notes: Note[] = []
    const isLocal = isCoherent(this.#folder)
    for (const name of await namesIn(this.#folder)) {
      const [, word, state] = /^\w+\.([\w-]+)\.(staged|counts)\.json$/.exec(name) ?? []
      if (word === undefined || !isAbandoned(word, isLocal)) continue
      const path = join(this.#folder, name)
      const plan = parse(await readFile(path, "utf8").catch(unlessMissing))
      if (plan !== undefined) notes.push({ ...plan, path, counts: state === "counts" })
      // An incomplete note was never acted on.
      else if (state === "staged") await this.drop({ path })
    }
    return notes
  }

  sync(): Promise<void> {
    return syncAt(this.#folder)
  }
}

const nobody = "nobody"

function toWord(owner: JsonObject): string {
  return Buffer.from(JSON.stringify(owner)).toString("base64url")
}

function isAbandoned(word: string, isLocal: boolean): boolean {
  if (word === nobody) return true
  try {
    // Safe: `isDead` checks each field, and a text that is not JSON throws.
    return isDead(JSON.parse(Buffer.from(word, "base64url").toString()) as JsonObject, isLocal)
  } catch {
    return false
  }
}

function parse(text: string | undefined): Plan | undefined {
  try {
    // Safe: only this module writes plans, and one that is not whole is not JSON.
    return JSON.parse(text ?? "") as Plan
  } catch {
    return undefined
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(unlessMissing)) ?? []
}

async function syncAt(folder: string): Promise<void> {
  const handle = await open(folder)
  await closing(handle, () => handle.sync())
}

function unlessMissing(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error
}
