import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, relative } from "node:path"
import { newNonce } from "../../../lib/id.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { sha256 } from "../../../lib/sha256.ts"
import { stateFolders } from "../store/state-folder.ts"

/**
 * Records that commands ran in a folder, with the config files that existed at its top before. Throws if that cannot be
 * recorded: nothing may run then, since a planted file could not be detected later.
 */
export function recordCommandsIn(root: string): void {
  const governing = governingFilesIn(root)
  const files = governing.map((name) => nameOf(root, join(root, name), readFileSync(join(root, name), "utf8")))
  const record: CommandRecord = { root, files, names: governing }
  const failures = stateFolders().flatMap((folder) => {
    try {
      create(recordPath(folder, root), record)
      return []
    } catch (error) {
      return [error]
    }
  })
  if (failures.length === stateFolders().length) throw failures[0]
}

/**
 * True if a command may have written this file: it is where commands ran, and did not exist before with this content.
 */
export function mayBePlanted(path: string, content: string): boolean {
  return recordsAbove(path).some(({ record }) => !record.files.includes(nameOf(record.root, realPath(path), content)))
}

/** True if commands ran in this folder or one above it. */
export function commandsRanIn(folder: string): boolean {
  return recordsAbove(join(folder, "x")).length > 0
}

/** The files of these that were in the folder before commands ran there, or were named since, and were removed. */
export function removedFiles(folder: string, names: readonly string[]): readonly string[] {
  if (!existsSync(folder)) return []
  const gone = recordsAbove(join(folder, "x")).flatMap(({ record }) =>
    names.filter((name) => record.names?.includes(relative(record.root, realPath(join(folder, name))))),
  )
  return [...new Set(gone)].map((name) => join(folder, name)).filter((path) => !existsSync(path))
}

/** The user accepts that a file was removed. */
export function forgetFile(path: string): void {
  for (const { place, record } of recordsAbove(path)) {
    const gone = relative(record.root, realPath(path))
    if (record.names?.includes(gone)) replace(place, { ...record, names: record.names.filter((name) => name !== gone) })
  }
}

/** The user named this file, so it is trusted with this content. */
export function trustFile(path: string, content: string): void {
  for (const { place, record } of recordsAbove(path)) {
    const digest = nameOf(record.root, realPath(path), content)
    if (record.files.includes(digest)) continue
    const name = relative(record.root, realPath(path))
    replace(place, { ...record, files: [...record.files, digest], names: [...(record.names ?? []), name] })
  }
}

function replace(place: string, record: CommandRecord): void {
  const temporary = `${place}.${newNonce()}`
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 })
  renameSync(temporary, place)
}

interface CommandRecord {
  readonly root: string
  /** Digests of paths and contents. */
  readonly files: readonly string[]
  /** The paths of files whose removal must be noticed. Absent in records of older versions. */
  readonly names?: readonly string[]
}

function recordPath(stateFolder: string, root: string): string {
  return join(stateFolder, "commands", `${sha256(root)}.json`)
}

/** The first record stays: later ones would treat planted files as existing ones. */
function create(place: string, record: CommandRecord): void {
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
  const temporary = `${place}.${newNonce()}`
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 })
  try {
    linkSync(temporary, place)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

function governingFilesIn(root: string): readonly string[] {
  const entries = readdirSync(root, { withFileTypes: true })
  return entries.filter((entry) => isOurs(entry.name) && entry.isFile()).map(({ name }) => name)
}

function nameOf(root: string, path: string, content: string): string {
  return sha256(JSON.stringify([relative(root, path), content]))
}

function recordsAbove(path: string): readonly { readonly place: string; readonly record: CommandRecord }[] {
  const folders: string[] = []
  for (let at = dirname(realPath(path)); !folders.includes(at); at = dirname(at)) folders.push(at)
  return folders.flatMap((folder) =>
    stateFolders().flatMap((stateFolder) => {
      const place = recordPath(stateFolder, folder)
      const text = readIfThere(place)
      return text === undefined ? [] : [{ place, record: parse(text) ?? { root: folder, files: [] } }]
    }),
  )
}

/** The folder's real path and the file's own name: a link created by a command is a planted file. */
function realPath(path: string): string {
  return join(realpathSync(dirname(path)), relative(dirname(path), path))
}

/** An unreadable record counts as one without files. */
function readIfThere(place: string): string | undefined {
  try {
    return readFileSync(place, "utf8")
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT" ? undefined : ""
  }
}

function parse(text: string): CommandRecord | undefined {
  try {
    return JSON.parse(text) as CommandRecord // Written by this file, in a folder of the user.
  } catch {
    return undefined
  }
}
