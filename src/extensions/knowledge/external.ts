import type { GuardedFetch } from "../../contract/env.ts"
import { ToolError } from "../../contract/tool.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"
import { MAX_DOCUMENT_BYTES } from "./catalogue.ts"
import { type Extractors, formatOf, formatOfMediaType, getExtractor, type KnowledgeFormat } from "./formats.ts"
import type { ExtractedText } from "./sections.ts"

/** A document on the web that a run may read as `ext:<name>`. */
export interface ExternalDocument {
  /** Letters, digits, `_` and `-`. */
  readonly name: string
  /** Describes its content to the model. */
  readonly description: string
  readonly url: string
  /** Default: as the server reports it, else by the ending of the address. */
  readonly format?: KnowledgeFormat
  /** Sent with the request, to the origin of the address only. No model and no record gets to see them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Fetches each document once. */
export class ExternalDocuments {
  readonly #documents: ReadonlyMap<string, ExternalDocument>
  readonly #extractors: Extractors
  readonly #fetched = new Map<string, ExtractedText>()

  constructor(documents: readonly ExternalDocument[], extractors: Extractors) {
    this.#documents = new Map(documents.map((document) => [document.name, document]))
    this.#extractors = extractors
  }

  get all(): readonly ExternalDocument[] {
    return [...this.#documents.values()]
  }

  async read(name: string, fetch: GuardedFetch | undefined, signal: AbortSignal): Promise<ExtractedText> {
    const known = this.#fetched.get(name)
    if (known) return known
    const document = this.#documents.get(name)
    if (document === undefined) {
      const names = [...this.#documents.keys()].map((each) => `ext:${each}`).join(", ")
      throw new ToolError("not_found", `There is no external document ext:${name}. There are: ${names || "none"}.`)
    }
    if (fetch === undefined) throw new ToolError("denied", `ext:${name} cannot be read: tools have no web access here.`)
    const text = await this.#fetch(document, fetch, signal)
    this.#fetched.set(name, text)
    return text
  }

  async #fetch({ name, url, format, headers = {} }: ExternalDocument, fetch: GuardedFetch, signal: AbortSignal) {
    const options = { signal, maxBytes: MAX_DOCUMENT_BYTES, timeoutMs: TIMEOUT_MS, headers }
    const body = await fetch.get(url, options)
    // The address is not part of a message: it may hold a key.
    if (body.status < 200 || body.status > 299) {
      throw new ToolError("io", `ext:${name} cannot be read: its server responded with status ${body.status}.`)
    }
    if (body.truncated) throw new ToolError("io", `ext:${name} has more than ${MAX_DOCUMENT_BYTES} bytes.`)
    const reported = formatOfMediaType(body.contentType)
    const used = format ?? (reported === "txt" ? undefined : reported) ?? formatOf(new URL(url).pathname) ?? "txt"
    return (this.#extractors[used] ?? getExtractor(used))(body.bytes, { name: `ext:${name}`, signal })
  }
}

/** The secrets in the headers and addresses of documents, by name. */
export function externalCredentials(documents: readonly ExternalDocument[]): Readonly<Record<string, string>> {
  const values = documents.flatMap(({ name, url, headers = {} }) =>
    Object.entries(credentialsOf(url, headers)).flatMap(([key, value]) =>
      value.length < MIN_SECRET_LENGTH ? [] : [[`${name}/${key}`, value]],
    ),
  )
  return Object.fromEntries(values)
}

const TIMEOUT_MS = 30_000
/** Masking a shorter value would change ordinary text. */
const MIN_SECRET_LENGTH = 8
