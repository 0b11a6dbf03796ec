import { access, constants, rename, rmdir, unlink } from "node:fs/promises"
import { basename, dirname, join, sep } from "node:path"
import type { FileChange, FileGuard } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { newNonce } from "../../../lib/id.ts"
import { sha256 } from "../../../lib/sha256.ts"
import { errnoOf } from "../errno.ts"
import { defaultStoreRoot } from "../store/state-folder.ts"
import { CommitNotes, type Note, type Plan, type Step } from "./commit-notes.ts"
import type { Confinement, Location, Pin } from "./confine.ts"
import { Locks } from "./locks.ts"
import {
  closing,
  makeFolders,
  requireFile,
  requireFolder,
  requireVersion,
  stampOf,
  statOf,
  syncFolder,
  writeNew,
} from "./place-file.ts"

/** A change and its resolved target. */
export interface Located {
  readonly change: FileChange
  readonly at: Location
  /** The file whose permissions a new one gets. */
  readonly like?: Location
}

/** Open handles of changed folders, by name: they stay valid if a folder is moved in the meantime. */
type Held = Map<string, Pin>

type Named = <Value>(path: string, work: () => Promise<Value>) => Promise<Value>

/**
 * Changes to several files, all or none. New content is prepared next to its target and described in a note; renaming
 * that note commits the changes. The next user of the same folders finishes committed changes of a dead process, and
 * cleans up the others.
 */
export class FileCommits {
  readonly #confinement: Confinement
  readonly #notes: CommitNotes
  readonly #settling = new Locks()
  #looked = false

  constructor(confinement: Confinement, redoFolder = join(defaultStoreRoot(), "redo")) {
    this.#confinement = confinement
    this.#notes = new CommitNotes(join(redoFolder, sha256(confinement.identity).slice(0, 32)))
  }

  /**
   * Unfinished commits of dead processes have been settled. Checked once, and again before every write: redoing them
   * later would overwrite newer content.
   */
  async settled(toWrite: boolean): Promise<void> {
    if (this.#looked && !toWrite) return
    await this.#settling.run("", async () => {
      if (this.#looked && !toWrite) return
      try {
        for (const note of await this.#notes.abandoned()) {
          if (note.counts) await this.#finish(note)
          // Leftovers do no harm; the next user tries again.
          else await this.#clear(note).catch(() => {})
        }
      } catch (error) {
        this.#looked = false
        throw new ToolError("io", `cannot be used: a change that was started cannot be finished (${errnoOf(error)})`, {
          cause: error,
        })
      }
      this.#looked = true
    })
  }

  /** The guard checks each target in the folder that is held open until the end. */
  async commit(located: readonly Located[], named: Named, guard: FileGuard): Promise<void> {
    const places = located.map(({ at }) => placeOf(at))
    for (const { change, at } of located) await named(change.path, async () => refuseOverlap(placeOf(at), places))
    const checked: (Located & { readonly step: Step })[] = []
    for (const each of located) {
      checked.push({ ...each, step: await named(each.change.path, () => this.#check(each)) })
    }
    const plan = { steps: checked.map(({ step }) => step), folders: foldersToMake(located) }
    const held = new Map<string, Pin>()
    try {
      const note = await this.#prepare(checked, await this.#notes.write(plan), held, named, guard)
      await this.#finish(note, held).catch(async (error: unknown) => {
        await this.#giveUp(note)
        const why = `The changes are committed, but not all files could be written yet (${errnoOf(error)})`
        throw new ToolError("io", `${why}: the rest is written when files are next used.`, { cause: error })
      })
    } finally {
      for (const pin of held.values()) await pin.close()
    }
  }

  /** Up to the commit point; until then every failure rolls everything back. */
  async #prepare(
    checked: readonly (Located & { readonly step: Step })[],
    staged: Note,
    held: Held,
    named: Named,
    guard: FileGuard,
  ): Promise<Note> {
    try {
      for (const each of checked) await named(each.change.path, () => this.#stage(each, each.step, held, guard))
      await this.#syncFolders(staged, held)
      for (const each of checked) await named(each.change.path, () => this.#checkAgain(each, each.step))
      return await this.#notes.count(staged)
    } catch (error) {
      await this.#clear(staged, held).catch(() => this.#giveUp(staged))
      throw error
    }
  }

  async #check({ change: { content, version }, at: { real, missing } }: Located): Promise<Step> {
    const existing = missing.length > 0 ? undefined : await statOf(real)
    if (existing) requireFile(existing)
    if (version !== undefined) requireVersion(existing, version)
    const target = join(real, ...missing)
    if (content !== null) return { target, temporary: join(dirname(target), `.tmp-${newNonce()}`) }
    if (existing === undefined) throw new ToolError("not_found", "does not exist")
    return { target, removes: stampOf(existing) }
  }

  /** Right before the commit point, because preparation took time. */
  async #checkAgain({ change: { version } }: Located, step: Step): Promise<void> {
    const existing = await statOf(step.target)
    if (existing) requireFile(existing)
    if (version !== undefined) requireVersion(existing, version)
    if ("removes" in step && (existing === undefined || stampOf(existing) !== step.removes)) {
      throw new ToolError("conflict", "has changed in the meantime")
    }
  }

  async #stage(
    { change: { content }, at: { real, missing }, like }: Located,
    step: Step,
    held: Held,
    guard: FileGuard,
  ): Promise<void> {
    const name = dirname(step.target)
    const pin =
      held.get(name) ??
      (await (missing.length > 0
        ? makeFolders(this.#confinement, real, missing, guard)
        : this.#confinement.pin(name, "write")))
    held.set(name, pin)
    requireFolder(pin.stats)
    guard(join(pin.real, basename(step.target)), "write")
    // A folder that forbids removal must be detected before the commit point.
    if (content === null || "removes" in step) return access(pin.place, constants.W_OK | constants.X_OK)
    const mode = (await statOf(`${pin.place}/${basename(step.target)}`))?.mode ?? (await this.#modeOf(like))
    await writeNew(`${pin.place}/${basename(step.temporary)}`, content, mode)
  }

  async #modeOf(like: Location | undefined): Promise<number | undefined> {
    if (like === undefined || like.missing.length > 0) return undefined
    return closing(await this.#confinement.pin(like.real, "read"), async ({ stats }) => stats.mode)
  }

  /** Can be repeated from the start at any point: completed steps are skipped. */
  async #finish(note: Note, held: Held = new Map()): Promise<void> {
    // The commit must be durable before its effects.
    await this.#notes.sync()
    for (const step of note.steps) {
      await this.#inFolder(step.target, held, async ({ place }) => {
        const target = `${place}/${basename(step.target)}`
        if ("removes" in step) {
          // Another file that has the name by now must not be removed.
          const existing = await statOf(target)
          if (existing?.isFile() && stampOf(existing) === step.removes) await unlink(target).catch(passedOver)
          return
        }
        const temporary = `${place}/${basename(step.temporary)}`
        await rename(temporary, target).catch(async (error: unknown) => {
          passedOver(error)
          await unlink(temporary).catch(passedOver)
        })
      })
    }
    await this.#syncFolders(note, held)
    await this.#notes.drop(note)
  }

  async #clear(note: Note, held: Held = new Map()): Promise<void> {
    for (const step of note.steps) {
      if ("removes" in step) continue
      await this.#inFolder(step.target, held, ({ place }) =>
        unlink(`${place}/${basename(step.temporary)}`).catch(passedOver),
      )
    }
    await this.#syncFolders(note, held)
    // Only folders that are still empty.
    for (const folder of [...note.folders].reverse()) {
      await this.#inFolder(folder, held, ({ place }) => rmdir(`${place}/${basename(folder)}`).catch(() => {}))
    }
    await this.#notes.drop(note)
  }

  async #giveUp(note: Note): Promise<void> {
    this.#looked = false
    await this.#notes.handOver(note)
  }

  async #syncFolders({ steps }: Plan, held: Held): Promise<void> {
    const folders = new Map(steps.map(({ target }) => [dirname(target), target]))
    for (const target of folders.values()) await this.#inFolder(target, held, syncFolder)
  }

  /** If the folder of a file was removed or redirected, nothing is left to do in it. */
  async #inFolder(path: string, held: Held, work: (folder: Pin) => Promise<void>): Promise<void> {
    const known = held.get(dirname(path))
    if (known) return work(known)
    const folder = await this.#confinement.pin(dirname(path), "write").catch(passedOver)
    if (folder?.stats.isDirectory()) await closing(folder, work)
    else await folder?.close()
  }
}

/** Changes must not depend on their order, nor need another file to be a folder. */
function refuseOverlap(place: string, all: readonly string[]): void {
  const others = all.filter((each) => each === place || place.startsWith(each + sep))
  if (others.length === 1) return
  throw new ToolError("invalid_input", "is changed twice, or is below a file of the same change")
}

export function placeOf({ real, missing }: Location): string {
  return join(real, ...missing)
}

function foldersToMake(located: readonly Located[]): readonly string[] {
  const folders = located.flatMap(({ change, at: { real, missing } }) =>
    change.content === null ? [] : missing.slice(0, -1).map((_, index) => join(real, ...missing.slice(0, index + 1))),
  )
  return [...new Set(folders)].sort()
}

/** Changes that others made since came after the commit, and stay. */
function passedOver(error: unknown): undefined {
  if (error instanceof ToolError && error.code === "denied") return
  if (!["ENOENT", "ENOTDIR", "EISDIR", "EEXIST"].includes(errnoOf(error))) throw error
}
