import type { GuardedFetch } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { ToolError } from "../../contract/tool.ts"
import { firstMatch } from "../../lib/text/words.ts"
import { KnowledgeBase } from "./base.ts"
import type { IndexHit } from "./base-index.ts"
import { type KnowledgeFile, type KnowledgePlace, listBases } from "./catalogue.ts"
import { type ExternalDocument, ExternalDocuments } from "./external.ts"
import type { Extractors } from "./formats.ts"
import { type KnowledgeRef, parseRef, shownRef, slugOf } from "./refs.ts"
import { type ExtractedText, splitSections } from "./sections.ts"

/** The knowledge of a workspace: its bases, and external documents. */
export interface KnowledgeLibrary {
  readonly bases: readonly { readonly name: string; readonly files: readonly KnowledgeFile[] }[]
  readonly external: readonly ExternalDocument[]
  /** The best matches first. Rejects with a `ToolError` for an unknown base. */
  search(query: string, options: KnowledgeQuery): Promise<readonly KnowledgeHit[]>
  /** A section, a file or an external document. Rejects with a `ToolError` for a reference that leads nowhere. */
  read(ref: string, options: KnowledgeReading): Promise<KnowledgeText>
}

export interface KnowledgeQuery {
  readonly base?: string | undefined
  readonly limit: number
  /** Masks secrets in a text before a part of it is shown. */
  readonly redact?: (text: string) => string
}

/** A section that matches a query. */
export interface KnowledgeHit {
  readonly ref: string
  /** The file, the headings above and its own, from the outside in. */
  readonly title: string
  readonly snippet: string
  readonly score: number
  /** References that its wiki links lead to. */
  readonly neighbours: readonly string[]
}

export interface KnowledgeReading {
  readonly signal: AbortSignal
  /** Absent: external documents cannot be read. */
  readonly fetch?: GuardedFetch | undefined
}

export interface KnowledgeText {
  readonly text: string
  /** The references of the sections in it. */
  readonly sections: readonly string[]
}

export interface LibrarySettings {
  readonly place: KnowledgePlace
  readonly folders?: readonly string[] | undefined
  readonly external: readonly ExternalDocument[]
  readonly extractors: Extractors
  readonly signal: AbortSignal
  readonly warn: (message: string) => void
}

export async function openLibrary(settings: LibrarySettings): Promise<KnowledgeLibrary> {
  const { place, folders, external, extractors, signal, warn } = settings
  const listed = await listBases(place, folders, warn)
  const bases = new Map(
    Array.from(listed, ([name, files]) => [name, new KnowledgeBase({ place, name, files, extractors, signal, warn })]),
  )
  return new Library(bases, new ExternalDocuments(external, extractors))
}

class Library implements KnowledgeLibrary {
  readonly #bases: ReadonlyMap<string, KnowledgeBase>
  readonly #external: ExternalDocuments

  constructor(bases: ReadonlyMap<string, KnowledgeBase>, external: ExternalDocuments) {
    this.#bases = bases
    this.#external = external
  }

  get bases() {
    return Array.from(this.#bases.values(), ({ name, files }) => ({ name, files }))
  }

  get external() {
    return this.#external.all
  }

  async search(query: string, { base, limit, redact }: KnowledgeQuery): Promise<readonly KnowledgeHit[]> {
    const bases = base === undefined ? [...this.#bases.values()] : [this.#base(base)]
    const found = await Promise.all(
      bases.map(async (each) => (await each.find(query, limit)).map((hit) => ({ each, hit }))),
    )
    return found
      .flat()
      .sort((left, right) => right.hit.score - left.hit.score)
      .slice(0, limit)
      .map(({ each, hit }) => ({
        ref: refOf(each.name, hit.path, hit.slug),
        title: hit.title === "" ? hit.trail : `${hit.trail} > ${hit.title}`,
        snippet: snippetOf(hit, redact),
        score: Math.round(hit.score * 100) / 100,
        neighbours: hit.links.flatMap((link) => neighbour(each, link) ?? []),
      }))
  }

  async read(ref: string, { signal, fetch }: KnowledgeReading): Promise<KnowledgeText> {
    const parsed = parseRef(ref)
    const [place, text] =
      parsed.kind === "external"
        ? [`ext:${parsed.name}`, await this.#external.read(parsed.name, fetch, signal)]
        : [`${parsed.base}/${parsed.path}`, await this.#file(parsed)]
    return partOf(text, place, parsed.slug)
  }

  /** Files are looked up among those that were listed, so that no path is formed from a model's text. */
  async #file({ base, path }: KnowledgeRef & { readonly kind: "file" }): Promise<ExtractedText> {
    const known = this.#base(base)
    const file = known.files.find((each) => each.path === path)
    if (file) return known.extract(file)
    throw new ToolError("not_found", `The knowledge base ${base} has no file ${shownRef(path)}. Search for it.`)
  }

  #base(name: string): KnowledgeBase {
    const base = this.#bases.get(name)
    if (base) return base
    const names = [...this.#bases.keys()].join(", ")
    throw new ToolError("not_found", `There is no knowledge base ${shownRef(name)}. There are: ${names || "none"}.`)
  }
}

function partOf(document: ExtractedText, place: string, slug: string | undefined): KnowledgeText {
  const sections = splitSections(document)
  const refs = (from: number, to: number) =>
    sections
      .filter((each) => each.slug !== "" && each.start >= from && each.start < to)
      .map((each) => `${place}#${each.slug}`)
  if (slug === undefined) return { text: document.text, sections: refs(0, Number.POSITIVE_INFINITY) }
  const section = sections.find((each) => each.slug === slug)
  if (section) {
    const { start, end } = section
    return { text: document.text.slice(start, end).trimEnd(), sections: refs(start + 1, end) }
  }
  const known = refs(0, Number.POSITIVE_INFINITY).slice(0, MAX_NAMED)
  throw new ToolError("not_found", `${place} has no section ${shownRef(slug)}. It has: ${known.join(", ") || "none"}.`)
}

function refOf(base: string, path: string, slug: string): string {
  return slug === "" ? `${base}/${path}` : `${base}/${path}#${slug}`
}

/** The text around the first word that matches. */
function snippetOf({ text, terms }: IndexHit, redact: (text: string) => string = (same) => same): string {
  const masked = redact(text)
  const at = firstMatch(masked, terms)
  const from = at < SNIPPET / 2 ? 0 : wordStart(masked, at - SNIPPET / 4)
  const to = masked.length <= from + SNIPPET ? masked.length : wordStart(masked, from + SNIPPET)
  const shown = masked.slice(from, to).replace(/\s+/g, " ").trim()
  return `${from > 0 ? "... " : ""}${shown}${to < masked.length ? " ..." : ""}`
}

/** The beginning of a word near an index; in a text without spaces, of a character. */
function wordStart(text: string, index: number): number {
  for (let at = index; at > index - MAX_WORD_LENGTH; at--) if (/\s/.test(text.charAt(at - 1))) return at
  return /[\udc00-\udfff]/.test(text.charAt(index)) ? index + 1 : index
}

/** The target of a wiki link: a file of the same base by path or name, and a section of it. */
function neighbour({ name, files }: KnowledgeBase, link: string): string | undefined {
  const [target = "", heading] = link.split("#", 2)
  const wanted = target.trim().toLowerCase()
  const file = files.find(({ path }) => {
    const full = path.toLowerCase()
    const bare = full.replace(/\.[^./]+$/, "")
    return [full, bare, full.split("/").at(-1), bare.split("/").at(-1)].includes(wanted)
  })
  return file && refOf(name, file.path, heading === undefined ? "" : slugOf(heading))
}

/** The message for the model if a document cannot be read. */
export function asToolError(error: unknown): unknown {
  if (!LonghaulError.is(error)) return error
  const code = error.code === "format_unsupported" ? "denied" : error.code === "not_found" ? "not_found" : "io"
  return new ToolError(code, [error.message, ...(error.fix === undefined ? [] : [error.fix])].join(" "), {
    cause: error,
  })
}

const SNIPPET = 300
const MAX_WORD_LENGTH = 40
const MAX_NAMED = 20
