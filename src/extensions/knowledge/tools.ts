import { type Tool, type ToolContext, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { isJsonObject } from "../../lib/json.ts"
import { checkArgument, checkShape, having, required } from "../../lib/schema/shape.ts"
import { beforeCut, redactOf } from "../../lib/text/before-cut.ts"
import { truncateUtf8, utf8Length } from "../../lib/truncate.ts"
import { asToolError, type KnowledgeHit, type KnowledgeLibrary } from "./library.ts"

export interface SearchKnowledgeOptions {
  /** Default 5. */
  readonly maxSearchResults?: number
}

export interface ReadKnowledgeOptions {
  /** Default 10,000. */
  readonly maxReadBytes?: number
}

const common = { uses: usesNothing, effect: "none", concurrent: true, risk: "low" } as const

/** The tool `SearchKnowledge`, for the knowledge of `openKnowledge`. */
export function createSearchKnowledgeTool(library: KnowledgeLibrary, options: SearchKnowledgeOptions = {}): Tool {
  checkArgument("library", library, libraryField)
  checkShape<SearchKnowledgeOptions>("createSearchKnowledgeTool", options, { maxSearchResults: "number" })
  const { maxSearchResults = DEFAULT_RESULTS } = options
  return {
    ...common,
    name: "SearchKnowledge",
    description:
      "Searches the knowledge bases by words, in any language, and returns the best sections: the reference of each and a part of its text.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 400, description: "What to look for, in a few words." },
        base: { type: "string", description: "Search only this knowledge base." },
        limit: { type: "integer", minimum: 1, maximum: maxSearchResults, description: "Maximum number of sections." },
      },
      required: ["query"],
      additionalProperties: false,
    },
    async run(args, context: ToolContext) {
      const { query, base, limit } = isJsonObject(args) ? args : {}
      const asked = typeof query === "string" ? query : ""
      const hits = await library
        .search(asked, {
          ...(typeof base === "string" && { base }),
          limit: typeof limit === "number" ? Math.min(limit, maxSearchResults) : maxSearchResults,
          redact: redactOf(context),
        })
        .catch((error: unknown) => {
          throw asToolError(error)
        })
      return hits.length === 0
        ? `No section matches ${JSON.stringify(asked)}. Try other words.`
        : hits.map(shown).join("\n\n")
    },
  }
}

/** The tool `ReadKnowledge`, for the knowledge of `openKnowledge`. */
export function createReadKnowledgeTool(library: KnowledgeLibrary, options: ReadKnowledgeOptions = {}): Tool {
  checkArgument("library", library, libraryField)
  checkShape<ReadKnowledgeOptions>("createReadKnowledgeTool", options, { maxReadBytes: "number" })
  const { maxReadBytes = DEFAULT_BYTES } = options
  return {
    ...common,
    name: "ReadKnowledge",
    description:
      "Reads a section (base/file.md#section), a file (base/file.md) or an external document (ext:name) by its reference.",
    inputSchema: {
      type: "object",
      properties: {
        ref: {
          type: "string",
          minLength: 1,
          maxLength: 800,
          description: "A reference, as SearchKnowledge returns it.",
        },
        offset: { type: "integer", minimum: 0, description: "Continue a long text after this many characters." },
      },
      required: ["ref"],
      additionalProperties: false,
    },
    maxOutputBytes: maxReadBytes + MAX_NOTE_LENGTH,
    async run(args, context: ToolContext) {
      const { ref, offset } = isJsonObject(args) ? args : {}
      const { signal, env } = context
      const { text, sections } = await library
        .read(typeof ref === "string" ? ref : "", { signal, fetch: env.fetch })
        .catch((error: unknown) => {
          throw asToolError(error)
        })
      return cut(text, typeof offset === "number" ? offset : 0, maxReadBytes, sections, context)
    },
  }
}

function shown({ ref, title, snippet, neighbours }: KnowledgeHit): string {
  const links = neighbours.length === 0 ? "" : `\n  Links to: ${neighbours.join(", ")}`
  return `${ref}\n  ${title}\n  ${snippet}${links}`
}

function cut(
  text: string,
  offset: number,
  maxBytes: number,
  sections: readonly string[],
  context: ToolContext,
): string {
  if (offset === 0 && utf8Length(text) <= maxBytes) return text
  const redact = redactOf(context)
  // Masked from its beginning, so that a secret at the offset is recognised, too.
  const masked = offset > 0 || text.length <= maxBytes ? redact(text) : beforeCut(text, maxBytes, redact)
  if (offset > 0 && offset >= masked.length) {
    throw new ToolError("invalid_input", `The text has ${masked.length} characters: offset ${offset} is after its end.`)
  }
  const rest = offset > 0 ? masked.slice(offset) : masked
  const { text: start, truncated } = truncateUtf8(rest, { maxBytes })
  if (!truncated) return start
  const names = sections.slice(0, MAX_NAMED).join(", ")
  const whole = sections.length > MAX_NAMED ? `${names} and ${sections.length - MAX_NAMED} more` : names
  const parts = names === "" ? "" : ` Its sections: ${whole}.`
  return `${start}\n[cut after ${maxBytes} bytes of ${text.length} characters; continue with offset ${offset + start.length}.${parts}]`
}

const DEFAULT_RESULTS = 5
const DEFAULT_BYTES = 10_000
const MAX_NOTE_LENGTH = 12_000
const MAX_NAMED = 20

const libraryField = having(
  { search: required("function"), read: required("function") },
  "Pass what openKnowledge() resolves to.",
)
