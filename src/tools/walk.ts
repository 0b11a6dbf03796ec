import type { FileEntry, Files } from "../contract/env.ts"
import { type ToolContext, ToolError } from "../contract/tool.ts"
import { type IgnoreFile, parseIgnoreFile } from "./ignore-rules.ts"
import { byName, stopIfAborted } from "./shared.ts"

export interface Walk {
  readonly files: Files
  readonly context: ToolContext
  /** Asked about paths from the folder where the walk starts. */
  readonly wanted: (path: string) => boolean
  /** Names of folders that are not entered. */
  readonly skippedFolders: readonly string[]
  /** Leaves out what `.gitignore` and `.ignore` files name, those above the folder included. */
  readonly ignoreFiles?: boolean
}

/** An ignore file that is in force, with how a path from its folder begins, seen from where the walk starts. */
interface Ruling {
  readonly says: IgnoreFile
  /** The folder's path below the start; or, for one above it, what leads from it down to the start. */
  readonly place: { readonly below: string } | { readonly above: string }
}

/**
 * The regular files at or below a path, sorted within each folder. Links are not followed. Paths come as a model would
 * write them, so that they can be handed to other tools.
 */
export async function* filesBelow(path: string, walk: Walk): AsyncGenerator<string> {
  const { files, context } = walk
  const { kind } = await files.info(path, context.cwd)
  if (kind === "other")
    throw new ToolError("invalid_input", `${files.display(path, context.cwd)} is not a regular file.`)
  if (kind !== "folder") {
    yield path
    return
  }
  const prefix = path === "." ? "" : path.endsWith("/") ? path : `${path}/`
  const rulings = walk.ignoreFiles ? await rulingsAbove(path, walk) : []
  yield* below("", await files.list(path, context.cwd), prefix, walk, rulings)
}

export async function* batchesOf<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length === size) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

async function* below(
  folder: string,
  entries: readonly FileEntry[],
  prefix: string,
  walk: Walk,
  above: readonly Ruling[],
): AsyncGenerator<string> {
  stopIfAborted(walk.context)
  const own = walk.ignoreFiles ? await rulingsOf(prefix + folder, entries, { below: folder }, walk) : []
  const rulings = own.length === 0 ? above : [...own, ...above]
  for (const entry of [...entries].sort(byName)) {
    const path = folder + entry.name
    if (isIgnored(path, entry.kind === "folder", rulings)) continue
    if (entry.kind === "file" && walk.wanted(path)) yield prefix + path
    if (entry.kind === "folder" && !walk.skippedFolders.includes(entry.name)) {
      yield* below(`${path}/`, await listOrNothing(prefix + path, walk), prefix, walk, rulings)
    }
  }
}

/** The nearest file that has something to say decides. */
function isIgnored(path: string, isFolder: boolean, rulings: readonly Ruling[]): boolean {
  for (const { says, place } of rulings) {
    const seen = "below" in place ? path.slice(place.below.length) : place.above + path
    const ignored = says(seen, isFolder)
    if (ignored !== undefined) return ignored
  }
  return false
}

/** `.ignore` wins over `.gitignore` of the same folder. */
const ignoreNames = [".ignore", ".gitignore"]

async function rulingsOf(
  folder: string,
  entries: readonly FileEntry[],
  place: Ruling["place"],
  { files, context }: Walk,
): Promise<Ruling[]> {
  const rulings: Ruling[] = []
  for (const name of ignoreNames) {
    if (!entries.some((entry) => entry.name === name && entry.kind === "file")) continue
    try {
      const bytes = await files.read(`${folder}${name}`, context.cwd, { offset: 0, limit: LARGEST_IGNORE_FILE })
      rulings.push({ says: parseIgnoreFile(new TextDecoder().decode(bytes)), place })
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
    }
  }
  return rulings
}

/** From the folder's parent up to where we may no longer look. */
async function rulingsAbove(path: string, walk: Walk): Promise<Ruling[]> {
  const { files, context } = walk
  const rulings: Ruling[] = []
  const names = files
    .display(path, context.cwd)
    .split("/")
    .filter((name) => name !== "" && name !== ".")
  let folder = path
  for (let depth = names.length - 1; depth >= 0; depth--) {
    folder = `${folder}/..`
    const entries = await listOrNothing(folder, walk)
    const above = `${names.slice(depth).join("/")}/`
    rulings.push(...(await rulingsOf(`${folder}/`, entries, { above }, walk)))
  }
  return rulings
}

const LARGEST_IGNORE_FILE = 1024 * 1024

/** A folder may vanish or be closed to us while others are walked. */
async function listOrNothing(path: string, { files, context }: Walk): Promise<readonly FileEntry[]> {
  try {
    return await files.list(path, context.cwd)
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}
