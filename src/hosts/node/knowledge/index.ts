import type { Extension } from "../../../contract/extension.ts"
import * as portable from "../../../extensions/knowledge/index.ts"
import { kindOf } from "../../../lib/known-keys.ts"
import { nodeExtractors } from "./extractors.ts"

/** `longhaul/extensions/knowledge` on Node: the same as everywhere, and it reads PDF and DOCX if their packages are installed. */
export * from "../../../extensions/knowledge/index.ts"

/** The knowledge bases of the workspace, `knowledge/` in its part of the store, and documents on the web. */
export function knowledge(options: portable.KnowledgeOptions = {}): Extension {
  return portable.knowledge(withNode(options))
}

/** The knowledge of a workspace, to search and read it, or to turn it into tools. */
export function openKnowledge(options: portable.OpenKnowledgeOptions): Promise<portable.KnowledgeLibrary> {
  return portable.openKnowledge(withNode(options))
}

/** The index of a base as it is now. */
export function buildKnowledgeIndex(request: portable.KnowledgeIndexRequest): Promise<portable.BuiltKnowledgeIndex> {
  return portable.buildKnowledgeIndex(withNode(request))
}

/** Builds the index of a base and writes it next to the documents, so that runs need not build it. */
export function writeKnowledgeIndex(request: portable.KnowledgeIndexRequest): Promise<portable.BuiltKnowledgeIndex> {
  return portable.writeKnowledgeIndex(withNode(request))
}

/** The extractor of a format. That of PDF or DOCX rejects with `format_unsupported` if its package is not installed. */
export function getExtractor(format: portable.KnowledgeFormat): portable.Extractor {
  return (
    (Object.hasOwn(nodeExtractors, String(format)) ? nodeExtractors[format] : undefined) ??
    portable.getExtractor(format)
  )
}

function withNode<Options extends { readonly extractors?: portable.Extractors }>(options: Options): Options {
  // The check of the options reports a value that is not an object.
  const given: unknown = Reflect.get(Object(options), "extractors")
  const isUsable = given === undefined || kindOf(given) === "an object"
  if (kindOf(options) !== "an object" || !isUsable) return options
  return { ...options, extractors: { ...nodeExtractors, ...options.extractors } }
}
