import type { FileEntry, Files } from "../../contract/env.ts"
import { type ToolContext, ToolError } from "../../contract/tool.ts"
import { byName, stopIfAborted } from "../shared.ts"
import { type IgnoreFile, parseIgnoreFile } from "./ignore-rules.ts"

export interface Walk {
  readonly files: Files
  readonly context: ToolContext
  /** Called with paths relative to the start of the walk. */
  readonly wanted: (path: string) => boolean
  /** Names of folders that are skipped. */
  readonly skippedFolders: readonly string[]
  /** Excludes files matched by `.gitignore` and `.ignore` files, including those above the folder. */
  readonly ignoreFiles?: boolean
}

/** An active ignore file, with the prefix of paths in its folder relative to the start of the walk. */
interface Ruling {
  readonly file: IgnoreFile
  /** Precedence among ignore file names: a lower one wins, wherever the two are. */
  readonly rank: number
  /** The folder's path below the start; or, for one above it, the path from it down to the start. */
  readonly place: { readonly below: string } | { readonly above: string }
}

/**
 * The regular files at or below a path, sorted within each folder. Links are not followed. Paths are in a form that
 * other tools accept.
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
  const prefix = prefixOf(path)
  const rulings = walk.ignoreFiles ? await rulingsAbove(path, walk) : []
  yield* below("", await files.list(path, context.cwd), prefix, walk, rulings)
}

/** The prefix that makes a path from a folder usable by other tools. */
export function prefixOf(folder: string): string {
  return folder === "." ? "" : folder.endsWith("/") ? folder : `${folder}/`
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
  const rulings = inOrder(own, above)
  for (const entry of [...entries].sort(byName)) {
    const path = folder + entry.name
    // Not UTF-8: the path cannot be written.
    if (entry.name.includes("\ufffd")) continue
    if (isIgnored(path, entry.kind === "folder", rulings)) continue
    if (entry.kind === "file" && walk.wanted(path)) yield prefix + path
    if (entry.kind === "folder" && !walk.skippedFolders.includes(entry.name)) {
      yield* below(`${path}/`, await listOrNothing(prefix + path, walk), prefix, walk, rulings)
    }
  }
}

/**
 * For paths found with only the ignore files inside the folder: true if one above excludes them. Undefined if one above
 * might re-include a path that was not found.
 */
export async function ignoredFromAbove(
  path: string,
  walk: Walk,
): Promise<((found: string) => Promise<boolean>) | undefined> {
  const above = await rulingsAbove(path, walk)
  if (above.some(({ file, rank }) => rank < gitRank && file.hasExceptions)) return undefined
  const prefix = prefixOf(path)
  const known = new Map<string, Promise<readonly Ruling[]>>()
  /** The ignore files that apply to the entries of a folder. */
  const rulingsIn = (folder: string): Promise<readonly Ruling[]> => {
    let rulings = known.get(folder)
    if (rulings === undefined) {
      rulings = load(folder)
      known.set(folder, rulings)
    }
    return rulings
  }
  const load = async (folder: string): Promise<readonly Ruling[]> => {
    const entries = await listOrNothing(folder === "" ? path : prefix + folder, walk)
    const own = await rulingsOf(prefix + folder, entries, { below: folder }, walk)
    return inOrder(own, folder === "" ? above : await rulingsIn(folder.replace(/[^/]+\/$/, "")))
  }
  return async (found) => {
    const steps = stepsTo(found)
    // Files inside the folder may re-include what one above excluded, and are read only then.
    if (!steps.some((step) => isIgnored(step.path, step.isFolder, above))) return false
    for (const { path: each, isFolder, folder } of steps) {
      if (isIgnored(each, isFolder, await rulingsIn(folder))) return true
    }
    return false
  }
}

/** The folders on the way to a file, and the file. */
function stepsTo(path: string) {
  const names = path.split("/")
  return names.map((_, index) => ({
    path: names.slice(0, index + 1).join("/"),
    isFolder: index < names.length - 1,
    folder: names
      .slice(0, index)
      .map((name) => `${name}/`)
      .join(""),
  }))
}

/** The first one with a matching rule decides. */
function isIgnored(path: string, isFolder: boolean, rulings: readonly Ruling[]): boolean {
  for (const { file, place } of rulings) {
    const seen = "below" in place ? path.slice(place.below.length) : place.above + path
    const ignored = file.says(seen, isFolder)
    if (ignored !== undefined) return ignored
  }
  return false
}

/** By name first, then nearest first. */
function inOrder(near: readonly Ruling[], far: readonly Ruling[]): readonly Ruling[] {
  return near.length === 0 ? far : [...near, ...far].sort((left, right) => left.rank - right.rank)
}

/** The first takes precedence, as in ripgrep. */
const ignoreNames = [".rgignore", ".ignore", ".gitignore"]
const gitRank = ignoreNames.indexOf(".gitignore")

async function rulingsOf(
  folder: string,
  entries: readonly FileEntry[],
  place: Ruling["place"],
  { files, context }: Walk,
): Promise<Ruling[]> {
  const rulings: Ruling[] = []
  for (const [rank, name] of ignoreNames.entries()) {
    if (!entries.some((entry) => entry.name === name && (entry.kind === "file" || entry.kind === "link"))) continue
    try {
      const bytes = await files.read(`${folder}${name}`, context.cwd, { offset: 0, limit: MAX_IGNORE_FILE_BYTES })
      rulings.push({ file: parseIgnoreFile(new TextDecoder().decode(bytes)), rank, place })
    } catch (error) {
      if (!(error instanceof ToolError)) throw error
    }
  }
  return rulings
}

/** From the folder's parent up to the first inaccessible folder. */
async function rulingsAbove(path: string, walk: Walk): Promise<readonly Ruling[]> {
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
  return inOrder(rulings, [])
}

const MAX_IGNORE_FILE_BYTES = 1024 * 1024

/** A folder may disappear or become inaccessible during the walk. */
async function listOrNothing(path: string, { files, context }: Walk): Promise<readonly FileEntry[]> {
  try {
    return await files.list(path, context.cwd)
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}
