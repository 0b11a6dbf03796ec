import { LonghaulError } from "../../contract/error.ts"
import { ToolError } from "../../contract/tool.ts"
import type { KnowledgeLibrary } from "../../extensions/knowledge/index.ts"
import { UsageError } from "../arguments.ts"
import type { Output } from "../output.ts"
import type { OpenStore } from "../read-store.ts"

/** One subcommand of `knowledge`. It returns the exit code. */
export interface Subcommand {
  run(positionals: readonly string[], values: KnowledgeValues, output: Output, opened: OpenStore): Promise<number>
}

export interface KnowledgeValues {
  readonly base?: string
  readonly limit?: string
  readonly json?: boolean
}

export async function libraryOf({ store, workspaceId }: OpenStore, output: Output): Promise<KnowledgeLibrary> {
  const { openKnowledge } = await import("../../hosts/node/knowledge/index.ts")
  return openKnowledge({ store, workspaceId, warn: (message) => output.complain(message) })
}

/** The errors that a model would get, as errors of the command. */
export async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    throw new LonghaulError(error.code === "not_found" ? "not_found" : "config_invalid", error.message, {
      fix: "See the bases and files with: longhaul knowledge list.",
    })
  }
}

export function noMore(command: string, positionals: readonly string[], most: number): void {
  const extra = positionals[most]
  if (extra === undefined) return
  throw new UsageError(`Unexpected argument for knowledge ${command}: ${JSON.stringify(extra)}.`, "Remove it.")
}
