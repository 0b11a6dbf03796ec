import { mkdir, open, readdir, readFile, rename, rm, rmdir, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { FileChange } from "../../contract/env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { ToolError } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { sha256 } from "../../lib/sha256.ts"
import type { Confinement, Location } from "./confine.ts"
import { isGone, processOwner } from "./owner.ts"
import {
  closing,
  errnoOf,
  makeFolders,
  requireFile,
  requireFolder,
  requireVersion,
  statOf,
  syncFolder,
  writeNew,
} from "./place-file.ts"
import { defaultStoreRoot } from "./state-folder.ts"

/** One file of a commit: what stands ready under `temporary` takes its place, or it goes. */
interface Step {
  readonly target: string
  readonly temporary: string | null
}

/** A commit as it is noted: enough to finish it, or to clear it away. */
interface Note {
  readonly owner: JsonObject
  readonly steps: readonly Step[]
  /** Folders that the commit has to make, outermost first. */
  readonly folders: readonly string[]
}

interface Located {
  readonly change: FileChange
  readonly at: Location
}

type Named = <Value>(path: string, work: () => Promise<Value>) => Promise<Value>

/**
 * Changes of several files, all or none. Everything new is made ready beside its place and noted; renaming that note is
 * the moment from which the changes count. Whoever uses the same folders next finishes what a dead process noted as
 * counting, and clears away the rest.
 */
export class FileCommits {
  readonly #confinement: Confinement
  readonly #notes: string
  #settling: Promise<void> | undefined

  constructor(confinement: Confinement, redoFolder = join(defaultStoreRoot(), "redo")) {
    this.#confinement = confinement
    this.#notes = join(redoFolder, sha256(confinement.identity).slice(0, 32))
  }

  /** What dead processes left half done has been settled. */
  settled(): Promise<void> {
    this.#settling ??= this.#settleAll()
    return this.#settling
  }

  async commit(located: readonly Located[], named: Named): Promise<void> {
    const nonce = newNonce()
    for (const { change, at } of located) await named(change.path, () => this.#check(change, at))
    const note: Note = {
      owner: processOwner(),
      steps: located.map(({ change, at }, index) => {
        const target = join(at.real, ...at.missing)
        return { target, temporary: change.content && join(dirname(target), `.tmp-${nonce}-${index}`) }
      }),
      folders: [...new Set(located.flatMap(({ change, at }) => (change.content ? foldersToMake(at) : [])))].sort(),
    }
    const staged = join(this.#notes, `${nonce}.staged.json`)
    await this.#write(staged, note)
    try {
      for (const [index, { change, at }] of located.entries()) {
        await named(change.path, () => this.#stage(change, at, note.steps[index] as Step))
      }
      await rename(staged, committedName(staged))
      await this.#syncNotes()
    } catch (error) {
      await this.#clear(staged, note)
      throw error
    }
    await this.#finish(committedName(staged), note)
  }

  async #check({ content, version }: FileChange, { real, missing }: Location): Promise<void> {
    const existing = missing.length > 0 ? undefined : await statOf(real)
    if (existing) requireFile(existing)
    if (version !== undefined) requireVersion(existing, version)
    if (content === null && existing === undefined) throw new ToolError("not_found", "does not exist")
  }

  async #stage({ content }: FileChange, { real, missing }: Location, { target, temporary }: Step): Promise<void> {
    if (content === null || temporary === null) return
    const folder = await (missing.length > 0
      ? makeFolders(this.#confinement, real, missing.slice(0, -1))
      : this.#confinement.pin(dirname(real), "write"))
    await closing(folder, async (pin) => {
      requireFolder(pin.stats)
      const existing = await statOf(`${pin.place}/${basename(target)}`)
      await writeNew(`${pin.place}/${basename(temporary)}`, content, existing?.mode)
    })
  }

  /** Can be done again from the start at any point: what was done already is passed over. */
  async #finish(path: string, { steps }: Note): Promise<void> {
    for (const { target, temporary } of steps) {
      const folder = await this.#confinement.pin(dirname(target), "write").catch(orUndefined)
      if (folder === undefined) continue
      await closing(folder, async (pin) => {
        const place = `${pin.place}/${basename(target)}`
        if (temporary === null) await unlink(place).catch(orUndefined)
        else await rename(`${pin.place}/${basename(temporary)}`, place).catch(orUndefined)
        await syncFolder(pin)
      })
    }
    await rm(path, { force: true })
  }

  async #clear(path: string, { steps, folders }: Note): Promise<void> {
    for (const { temporary } of steps) {
      if (temporary === null) continue
      const folder = await this.#confinement.pin(dirname(temporary), "write").catch(orUndefined)
      if (folder) await closing(folder, (pin) => unlink(`${pin.place}/${basename(temporary)}`).catch(orUndefined))
    }
    // Only those that nobody else has put anything into since.
    for (const folder of [...folders].reverse()) {
      const parent = await this.#confinement.pin(dirname(folder), "write").catch(orUndefined)
      if (parent) await closing(parent, (pin) => rmdir(`${pin.place}/${basename(folder)}`).catch(() => {}))
    }
    await rm(path, { force: true })
  }

  async #settleAll(): Promise<void> {
    const names = (await readdir(this.#notes).catch(orUndefined)) ?? []
    for (const name of names) {
      const path = join(this.#notes, name)
      const note = readNote(await readFile(path, "utf8").catch(orUndefined))
      // A note that is not whole was never acted on.
      if (note === undefined) {
        if (name.endsWith(".staged.json")) await rm(path, { force: true })
        continue
      }
      if (!isGone(note.owner)) continue
      if (name.endsWith(".committed.json")) await this.#finish(path, note)
      else await this.#clear(path, note)
    }
  }

  async #write(path: string, note: Note): Promise<void> {
    await mkdir(this.#notes, { recursive: true, mode: 0o700 })
    await writeNew(path, new TextEncoder().encode(JSON.stringify(note)))
    await this.#syncNotes()
  }

  async #syncNotes(): Promise<void> {
    const handle = await open(this.#notes)
    await closing(handle, () => handle.sync())
  }
}

function committedName(staged: string): string {
  return staged.replace(/\.staged\.json$/, ".committed.json")
}

function foldersToMake({ real, missing }: Location): readonly string[] {
  return missing.slice(0, -1).map((_, index) => join(real, ...missing.slice(0, index + 1)))
}

function readNote(text: string | undefined): Note | undefined {
  try {
    return JSON.parse(text ?? "") as Note
  } catch {
    return undefined
  }
}

/** What is not there any more was dealt with before. */
function orUndefined(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error
}
