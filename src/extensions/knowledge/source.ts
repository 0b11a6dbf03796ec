import { LonghaulError } from "../../contract/error.ts"
import type { Store } from "../../contract/store.ts"
import { checkShape, type Shape } from "../../lib/schema/shape.ts"
import type { Extractors } from "./formats.ts"
import type { KnowledgeOptions } from "./options.ts"

/** Where the knowledge of a workspace is, for use outside a run. */
export interface KnowledgeSource {
  readonly store: Pick<Store, "folder" | "list" | "within">
  /** Default `default`. */
  readonly workspaceId?: string
  readonly extractors?: Extractors
  readonly signal?: AbortSignal
}

export interface OpenKnowledgeOptions extends KnowledgeSource, Pick<KnowledgeOptions, "folders" | "external"> {
  /** Receives why a document or an index is not used. */
  readonly warn?: (message: string) => void
}

export interface KnowledgeIndexRequest extends KnowledgeSource {
  readonly base: string
}

const sourceShape: Shape<KnowledgeSource> = {
  store: "object",
  workspaceId: "text",
  extractors: "object",
  signal: "signal",
}
export const indexShape: Shape<KnowledgeIndexRequest> = { ...sourceShape, base: "text" }
export const openShape: Shape<OpenKnowledgeOptions> = {
  ...sourceShape,
  folders: "texts",
  external: "objects",
  warn: "function",
}

/** Throws `config_invalid` for what is no place of knowledge. */
export function checkSource<Source extends KnowledgeSource>(where: string, source: Source, shape: Shape<Source>): void {
  checkShape(where, source, shape)
  const methods = ["folder", "list"].map((name) => typeof Reflect.get(Object(source.store), name))
  if (methods.every((type) => type === "function")) return
  throw new LonghaulError("config_invalid", `The store given to ${where} is not a store.`, {
    fix: "Pass what fsStore, s3Store or memoryStore returns.",
  })
}
