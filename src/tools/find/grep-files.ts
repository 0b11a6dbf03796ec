import type { FoundFiles } from "../../contract/env.ts"
import { ToolError } from "../../contract/tool.ts"
import { filesBelow, ignoredFromAbove, prefixOf, type Walk } from "./walk.ts"

/** A file that may contain a match. */
export interface Candidate {
  /** The path as shown to the model. */
  readonly path: string
  /**
   * At most one byte more than is searched. Undefined for files that are not searched; a ToolError if it cannot be
   * read.
   */
  read(): Promise<Uint8Array | undefined>
}

export interface FilesQuery {
  /** A folder or a file. */
  readonly path: string
  readonly pattern: string
  readonly ignoreCase: boolean
  readonly multiline: boolean
  /** Globs of which every wanted file name matches one; empty: unknown. */
  readonly names: readonly string[]
}

export const maxFileBytes = 5 * 1024 * 1024

/** In path order. Close it when the files have been read. */
export interface Candidates {
  readonly files: AsyncIterable<Candidate>
  close(): Promise<void>
}

/** The files found by the environment's search, or all files. */
export async function filesToSearch(query: FilesQuery, walk: Walk): Promise<Candidates> {
  const hit = await find(query, walk)
  if (hit === undefined) return { files: allFiles(query.path, walk), close: async () => {} }
  return { files: foundFiles(query.path, hit, walk), close: () => hit.found.close() }
}

async function* allFiles(start: string, walk: Walk): AsyncGenerator<Candidate> {
  for await (const path of filesBelow(start, walk)) yield { path, read: () => readOrPass(path, walk) }
}

interface Hit {
  readonly found: FoundFiles
  readonly isIgnored: (path: string) => Promise<boolean>
}

async function* foundFiles(start: string, { found, isIgnored }: Hit, walk: Walk): AsyncGenerator<Candidate> {
  const prefix = prefixOf(start)
  for (const { path, isReadable } of inWalkOrder(found)) {
    if (!walk.wanted(path) || (await isIgnored(path))) continue
    const whole = prefix + path
    // A found file that has disappeared is not reported: it may have been a link to elsewhere for a moment.
    const read = () => (isReadable ? found.read(path, maxFileBytes + 1) : readOrPass(whole, walk))
    yield { path: whole, read }
  }
}

async function find(query: FilesQuery, walk: Walk): Promise<Hit | undefined> {
  const { files, context, skippedFolders } = walk
  const { search } = context.env
  if (search === undefined || (await files.info(query.path, context.cwd)).kind !== "folder") return undefined
  const isIgnored = await ignoredFromAbove(query.path, walk)
  if (isIgnored === undefined) return undefined
  const { path, pattern, ignoreCase, multiline, names } = query
  const { cwd, signal } = context
  const where = { path, cwd, names, skippedFolders, maxFileBytes, signal }
  const found = await search.find({ ...where, pattern, ignoreCase, multiline })
  return found && { found, isIgnored }
}

/** In walk order: by the names in each folder. */
function inWalkOrder({ paths, unreadable }: FoundFiles) {
  const all = [
    ...paths.map((path) => ({ path, isReadable: true })),
    ...unreadable.map((path) => ({ path, isReadable: false })),
  ]
  const keyed = all.map((each) => ({ ...each, key: each.path.replaceAll("/", "\0") }))
  return keyed.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
}

async function readOrPass(path: string, { files, context }: Walk): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path, context.cwd, { offset: 0, limit: maxFileBytes + 1 })
  } catch (error) {
    // Files that are too large are skipped, readable or not.
    if (error instanceof ToolError && (await isPassedOver(path, { files, context }))) return undefined
    throw error
  }
}

async function isPassedOver(path: string, { files, context }: Pick<Walk, "files" | "context">): Promise<boolean> {
  try {
    const { kind, size } = await files.info(path, context.cwd)
    return kind === "folder" || size > maxFileBytes
  } catch (error) {
    if (error instanceof ToolError) return false
    throw error
  }
}
