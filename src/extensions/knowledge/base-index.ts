import type MiniSearch from "minisearch"
import type { AsPlainObject, Options, SearchOptions, SearchResult } from "minisearch"
import { isJsonObject } from "../../lib/json.ts"
import { isUnspaced, wordsOf } from "../../lib/text/words.ts"
import type { Section } from "./sections.ts"

/** The content of `_index.json`: what a base held when it was written. */
export interface KnowledgeIndex {
  readonly version: number
  readonly files: readonly IndexedFile[]
  /** The search index, in the format of the package `minisearch`. */
  readonly minisearch: AsPlainObject
}

export interface IndexedFile {
  /** Relative to the base. */
  readonly path: string
  /** SHA-256 of its bytes. */
  readonly digest: string
  /** The slugs of its sections; the empty one is the beginning of the file. */
  readonly sections: readonly string[]
}

/** A section that matches a query. */
export interface IndexHit {
  readonly path: string
  readonly slug: string
  readonly title: string
  readonly trail: string
  readonly text: string
  readonly links: readonly string[]
  readonly terms: ReadonlySet<string>
  readonly score: number
}

/** The index of one base in memory. */
export class BaseIndex {
  readonly #search: MiniSearch<Entry>
  readonly #files = new Map<string, IndexedFile>()

  private constructor(search: MiniSearch<Entry>, files: readonly IndexedFile[]) {
    this.#search = search
    for (const file of files) this.#files.set(file.path, file)
  }

  static async empty(): Promise<BaseIndex> {
    const { default: Index } = await import("minisearch")
    return new BaseIndex(new Index<Entry>(options), [])
  }

  /** Undefined if it is not an index of this version. */
  static async parse(bytes: Uint8Array): Promise<BaseIndex | undefined> {
    const { default: Index } = await import("minisearch")
    try {
      const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
      if (!isIndex(value) || value.version !== VERSION) return undefined
      const search = Index.loadJS<Entry>(value.minisearch, options)
      const sections = value.files.reduce((sum, file) => sum + file.sections.length, 0)
      return sections === search.documentCount ? new BaseIndex(search, value.files) : undefined
    } catch {
      return undefined
    }
  }

  get files(): readonly IndexedFile[] {
    return [...this.#files.values()]
  }

  digestOf(path: string): string | undefined {
    return this.#files.get(path)?.digest
  }

  add(path: string, digest: string, sections: readonly Section[]): void {
    this.remove(path)
    this.#files.set(path, { path, digest, sections: sections.map(({ slug }) => slug) })
    this.#search.addAll(
      sections.map(({ slug, title, trail, text, links }) => ({
        id: idOf(path, slug),
        path,
        slug,
        title,
        trail: [path, ...trail].join(" > "),
        text,
        links,
      })),
    )
  }

  remove(path: string): void {
    for (const slug of this.#files.get(path)?.sections ?? []) this.#search.discard(idOf(path, slug))
    this.#files.delete(path)
  }

  /** The best ones. A query matches a large part of a base, most of which is not needed. */
  find(query: string, limit: number): readonly IndexHit[] {
    const hits: IndexHit[] = []
    for (const result of this.#search.search(query, searching)) {
      if (hits.length >= limit) break
      const hit = this.#hit(result)
      if (hit) hits.push(hit)
    }
    return hits
  }

  toJSON(): KnowledgeIndex {
    return { version: VERSION, files: this.files, minisearch: this.#search.toJSON() }
  }

  /** An index may be damaged: a result that names no section of ours is not used. */
  #hit({ id, score, terms, path, slug, title, trail, text, links }: SearchResult): IndexHit | undefined {
    const isOurs = typeof path === "string" && typeof slug === "string" && id === idOf(path, slug)
    if (!isOurs || !this.#files.get(path)?.sections.includes(slug) || typeof text !== "string") return undefined
    return {
      path,
      slug,
      title: String(title),
      trail: String(trail),
      text,
      links: Array.isArray(links) ? links.filter((link) => typeof link === "string") : [],
      terms: new Set(terms),
      score,
    }
  }
}

interface Entry {
  readonly id: string
  readonly path: string
  readonly slug: string
  readonly title: string
  readonly trail: string
  readonly text: string
  readonly links: readonly string[]
}

/** Raised whenever sections or words are split in another way. */
const VERSION = 2

const options: Options<Entry> = {
  fields: ["title", "trail", "text"],
  storeFields: ["path", "slug", "title", "trail", "text", "links"],
  tokenize: wordsOf,
  processTerm: (term) => term,
  autoVacuum: false,
}

const searching: SearchOptions = {
  boost: { title: 3, trail: 1.5 },
  prefix: (term) => term.length > 2 || isUnspaced(term),
  fuzzy: (term) => (term.length > 4 && !isUnspaced(term) && !/\d/.test(term) ? 0.2 : false),
  weights: { fuzzy: 0.2, prefix: 0.4 },
}

function idOf(path: string, slug: string): string {
  return slug === "" ? path : `${path}#${slug}`
}

function isIndex(value: unknown): value is KnowledgeIndex {
  if (!isJsonObject(value) || !Array.isArray(value.files) || !isJsonObject(value.minisearch)) return false
  return value.files.every(
    (file) =>
      isJsonObject(file) &&
      typeof file.path === "string" &&
      typeof file.digest === "string" &&
      Array.isArray(file.sections) &&
      file.sections.every((slug) => typeof slug === "string"),
  )
}
