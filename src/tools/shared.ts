import type { FileEntry, Files, GuardedFetch } from "../contract/env.ts"
import { type ToolContext, ToolError } from "../contract/tool.ts"
import { PatternError } from "../lib/linear-pattern.ts"

export function filesOf(context: ToolContext): Files {
  if (context.env.files === undefined) throw new ToolError("denied", "This environment has no file system.")
  return context.env.files
}

export function fetchOf(context: ToolContext): GuardedFetch {
  if (context.env.fetch === undefined) throw new ToolError("denied", "This environment has no access to the web.")
  return context.env.fetch
}

export function stopIfAborted(context: ToolContext): void {
  if (context.signal.aborted) throw new ToolError("aborted", "The run is being stopped.")
}

/** File names may contain line breaks, which would look like separate lines. */
export function onOneLine(name: string): string {
  return name.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`)
}

/** By code units: the same order on every machine. */
export function byName(left: FileEntry, right: FileEntry): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0
}

/** Folders that searches skip. */
export const skippedFolders: readonly string[] = [".git", "node_modules"]

/** An invalid pattern is reported to the model. */
export async function compileOrRefuse<Compiled>(
  argument: string,
  compile: () => Compiled | Promise<Compiled>,
): Promise<Compiled> {
  try {
    return await compile()
  } catch (error) {
    if (error instanceof PatternError) throw new ToolError("invalid_input", `The ${argument} ${error.message}.`)
    throw error
  }
}
