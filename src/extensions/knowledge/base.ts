import { LonghaulError } from "../../contract/error.ts"
import { BaseIndex, type IndexHit, type KnowledgeIndex } from "./base-index.ts"
import { filesUnder, type KnowledgeFile, type KnowledgePlace, readDocument, storeOf } from "./catalogue.ts"
import { damaged, type Extractor, type Extractors, getExtractor, type KnowledgeFormat } from "./formats.ts"
import { checkedBase, INDEX_NAME } from "./refs.ts"
import { type ExtractedText, type Section, splitSections } from "./sections.ts"

export interface BaseSettings {
  readonly place: KnowledgePlace
  readonly name: string
  readonly files: readonly KnowledgeFile[]
  readonly extractors: Extractors
  readonly signal: AbortSignal
  readonly warn: (message: string) => void
}

/** One base, while a run uses it. Its index is read, or built, with the first search. */
export class KnowledgeBase {
  readonly name: string
  readonly files: readonly KnowledgeFile[]
  readonly #settings: BaseSettings
  #index: Promise<BaseIndex> | undefined

  constructor(settings: BaseSettings) {
    this.#settings = settings
    this.name = settings.name
    this.files = settings.files
  }

  async find(query: string, limit: number): Promise<readonly IndexHit[]> {
    try {
      return (await this.#current()).find(query, limit)
    } catch (error) {
      if (LonghaulError.is(error)) throw error
      // An index can be damaged in a way that only a search finds.
      this.#warnOfIndex()
      return (await this.#kept(this.#built(await BaseIndex.empty()))).find(query, limit)
    }
  }

  async extract(file: KnowledgeFile): Promise<ExtractedText> {
    const { place, extractors, signal } = this.#settings
    const bytes = await readDocument(place, this.name, file.path)
    return extractorOf(file.format, extractors)(bytes, { name: `${this.name}/${file.path}`, signal })
  }

  #current(): Promise<BaseIndex> {
    return this.#index ?? this.#kept(this.#open())
  }

  /** For later searches, unless it fails: then the next one tries again. */
  #kept(index: Promise<BaseIndex>): Promise<BaseIndex> {
    this.#index = index
    index.catch(() => {
      if (this.#index === index) this.#index = undefined
    })
    return index
  }

  async #open(): Promise<BaseIndex> {
    const { place, name } = this.#settings
    const bytes = await storeOf(place, name).folder(`${place.root}/${name}`).read(INDEX_NAME)
    if (bytes === null) return this.#built(await BaseIndex.empty())
    const index = await BaseIndex.parse(bytes)
    if (index === undefined) this.#warnOfIndex()
    return this.#built(index ?? (await BaseIndex.empty()))
  }

  /** The index with the files as they are now: those that it already has are not indexed again. */
  async #built(index: BaseIndex): Promise<BaseIndex> {
    const { files, warn } = this.#settings
    const paths = new Set(files.map(({ path }) => path))
    for (const { path } of index.files) if (!paths.has(path)) index.remove(path)
    const failed = await refresh(index, this.#settings)
    for (const { error } of failed)
      warn(`A document is omitted from the search. ${error.message} ${error.fix ?? ""}`.trim())
    return index
  }

  #warnOfIndex(): void {
    this.#settings.warn(
      `The index of the knowledge base ${this.name} is damaged or of another version, so the run builds its own. ` +
        `\`longhaul knowledge index ${this.name}\` rebuilds it.`,
    )
  }
}

export interface FailedFile {
  readonly path: string
  readonly error: LonghaulError
}

/** Indexes the files whose bytes differ from the indexed ones. Returns those that cannot be read. */
async function refresh(
  index: BaseIndex,
  { place, name, files, extractors, signal }: Omit<BaseSettings, "warn">,
): Promise<readonly FailedFile[]> {
  const failed: FailedFile[] = []
  const read = async ({ path, format }: KnowledgeFile): Promise<ReadFile | FailedFile | undefined> => {
    try {
      const bytes = await readDocument(place, name, path)
      const digest = await digestOf(bytes)
      if (index.digestOf(path) === digest) return undefined
      const text = await extractorOf(format, extractors)(bytes, { name: `${name}/${path}`, signal })
      return { path, digest, sections: splitSections(text) }
    } catch (error) {
      if (signal.aborted || (LonghaulError.is(error) && error.code === "storage")) throw error
      return { path, error: LonghaulError.is(error) ? error : damaged(`${name}/${path}`, format, error) }
    }
  }
  for (let at = 0; at < files.length; at += READ_AT_ONCE) {
    signal.throwIfAborted()
    // Added in order: sections that match equally well always have the same rank.
    for (const file of await Promise.all(files.slice(at, at + READ_AT_ONCE).map(read))) {
      if (file === undefined) continue
      if ("error" in file) {
        index.remove(file.path)
        failed.push(file)
      } else index.add(file.path, file.digest, file.sections)
    }
  }
  return failed
}

interface ReadFile {
  readonly path: string
  readonly digest: string
  readonly sections: readonly Section[]
}

export interface IndexRequest {
  readonly place: KnowledgePlace
  readonly base: string
  readonly extractors: Extractors
  readonly signal: AbortSignal
}

/** The index of a base as it is now. Documents that cannot be read are omitted and returned. */
export async function indexOf(request: IndexRequest): Promise<{
  readonly index: KnowledgeIndex
  readonly failed: readonly FailedFile[]
}> {
  const { place, extractors, signal } = request
  const name = checkedBase(request.base)
  const files = await filesUnder(place, name, "", () => {})
  if (files.length === 0) {
    throw new LonghaulError("not_found", `There are no documents in the knowledge base ${name}.`, {
      fix: `Add one: longhaul knowledge add ${name} <file>.`,
    })
  }
  const index = await BaseIndex.empty()
  const failed = await refresh(index, { place, name, files, extractors, signal })
  return { index: index.toJSON(), failed }
}

/** Checks whether the index of a base agrees with its documents. */
export async function indexState({
  place,
  base,
  files,
}: {
  readonly place: KnowledgePlace
  readonly base: string
  readonly files: readonly KnowledgeFile[]
}): Promise<"current" | "stale" | "missing" | "damaged"> {
  const bytes = await storeOf(place, base).folder(`${place.root}/${base}`).read(INDEX_NAME)
  if (bytes === null) return "missing"
  const index = await BaseIndex.parse(bytes)
  if (index === undefined) return "damaged"
  if (index.files.length !== files.length) return "stale"
  for (const { path } of files) {
    if (index.digestOf(path) !== (await digestOf(await readDocument(place, base, path)))) return "stale"
  }
  return "current"
}

function extractorOf(format: KnowledgeFormat, extractors: Extractors): Extractor {
  return extractors[format] ?? getExtractor(format)
}

async function digestOf(bytes: Uint8Array): Promise<string> {
  // A store returns bytes of their own, never shared memory.
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
}

const READ_AT_ONCE = 8
