import type { Store } from "../../contract/store.ts"
import { store, texts } from "../../lib/schema/contract-shapes.ts"
import { listOf, required, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import type { ExternalDocument } from "./external.ts"
import type { Extractors } from "./formats.ts"
import { documentShape, extractors, type KnowledgeOptions } from "./options.ts"

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
  store: required(store),
  workspaceId: "text",
  extractors,
  signal: "signal",
}
export const indexShape: Shape<KnowledgeIndexRequest> = { ...sourceShape, base: required("text") }
export const openShape: Shape<OpenKnowledgeOptions> = {
  ...sourceShape,
  folders: texts,
  external: listOf(shapeOf<ExternalDocument>(documentShape)),
  warn: "function",
}
