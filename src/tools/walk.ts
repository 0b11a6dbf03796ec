import type { FileEntry, Files } from "../contract/env.ts"
import { type ToolContext, ToolError } from "../contract/tool.ts"
import { byName, stopIfAborted } from "./shared.ts"

export interface Walk {
  readonly files: Files
  readonly context: ToolContext
  /** Asked about paths from the folder where the walk starts. */
  readonly wanted: (path: string) => boolean
  /** Names of folders that are not entered. */
  readonly skippedFolders: readonly string[]
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
  yield* below("", await files.list(path, context.cwd), prefix, walk)
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
): AsyncGenerator<string> {
  stopIfAborted(walk.context)
  for (const entry of [...entries].sort(byName)) {
    const path = folder + entry.name
    if (entry.kind === "file" && walk.wanted(path)) yield prefix + path
    if (entry.kind === "folder" && !walk.skippedFolders.includes(entry.name)) {
      yield* below(`${path}/`, await listOrNothing(prefix + path, walk), prefix, walk)
    }
  }
}

/** A folder may vanish or be closed to us while others are walked. */
async function listOrNothing(path: string, { files, context }: Walk): Promise<readonly FileEntry[]> {
  try {
    return await files.list(path, context.cwd)
  } catch (error) {
    if (error instanceof ToolError) return []
    throw error
  }
}
