import type { ExtensionRun } from "../../contract/extension.ts"
import { isJsonObject } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"

/** Written by people, except lessons, and rules if the host allows it. */
export const itemKinds = ["lesson", "rule", "profile"] as const
export type ItemKind = (typeof itemKinds)[number]

/** One thing that is remembered: one file, created once and never changed. */
export interface MemoryItem {
  readonly id: string
  readonly kind: ItemKind
  readonly text: string
  readonly at?: string
  /** The run that wrote it. Absent: a person did. */
  readonly run?: string
  /** The agent of the run. */
  readonly agent?: string | undefined
  /** The id of the item that it corrects. */
  readonly replaces?: string | undefined
}

/** The part of a workspace's store that holds its memory. `space`: a part of it that has a memory of its own. */
export function memoryFolder(space: string | undefined): string {
  return space === undefined ? ".longhaul/memory" : `.longhaul/memory/spaces/${space}`
}

/**
 * The items of a workspace. Each file is read once: it never changes. A copy of those that models
 * wrote, `items.json`, saves the reading; people may edit their files.
 */
export class MemoryItems {
  readonly #shared: ExtensionRun["shared"]
  readonly #folder: string
  readonly #isWritten: boolean
  readonly #known = new Map<string, MemoryItem | null>()
  #hasCopy = false

  constructor(shared: ExtensionRun["shared"], space: string | undefined, isWritten = true) {
    this.#shared = shared
    this.#folder = memoryFolder(space)
    this.#isWritten = isWritten
  }

  get location(): string {
    return this.#shared.folder(this.#folder).location
  }

  /** The items that no other one replaces, and the documents that people keep, the newest first. */
  async all(): Promise<readonly MemoryItem[]> {
    return current(await this.#read()).toSorted(newestFirst)
  }

  /**
   * Deletes as many of the items that models wrote as are too many, except this one: first what others replace, then the least used, the
   * oldest first. `readUses`: how often each item was given to a run or found by one.
   */
  async makeRoom(
    { kind, id }: MemoryItem,
    maxItems: number,
    readUses: () => Promise<ReadonlyMap<string, number>>,
  ): Promise<void> {
    const all = (await this.#read()).filter((item) => item.kind === kind)
    if (all.length <= maxItems) return
    const uses = await readUses()
    const valid = new Set(current(all))
    const rank = (item: MemoryItem) => (valid.has(item) ? 1 + (uses.get(item.id) ?? 0) : 0)
    const removable = all
      .filter((item) => item.run !== undefined && item.id !== id)
      .toSorted((left, right) => rank(left) - rank(right) || newestFirst(right, left))
    for (const item of removable.slice(0, all.length - maxItems)) await this.remove(item)
  }

  async remove({ kind, id }: Pick<MemoryItem, "kind" | "id">): Promise<void> {
    await this.#folderOf(kind).delete(`${id}.md`)
  }

  /** One file of the folder that people write as a whole. */
  async document(name: "profile.md" | "rules.md"): Promise<string> {
    const bytes = await this.#shared.folder(this.#folder).read(name)
    return bytes === null ? "" : new TextDecoder().decode(bytes).trim()
  }

  /** True if there are so many items of people that no model can add one. */
  async isFull(kind: ItemKind, maxItems: number): Promise<boolean> {
    const ofPeople = (await this.#read()).filter((item) => item.kind === kind && item.run === undefined)
    return ofPeople.length >= maxItems
  }

  has(kind: ItemKind, id: string): Promise<boolean> {
    return this.#folderOf(kind).exists(`${id}.md`)
  }

  /** A second attempt with the same id leaves the first one as it is. */
  async create(item: MemoryItem): Promise<void> {
    await this.#folderOf(item.kind).create(`${item.id}.md`, new TextEncoder().encode(formatItem(item)))
  }

  async #read(): Promise<readonly MemoryItem[]> {
    const lists = await Promise.all(itemKinds.map((kind) => this.#filesOf(kind)))
    const files = lists.flat()
    const isUnread = ({ path }: ItemFile) => !this.#known.has(path)
    if (files.some(isUnread)) await this.#readCopy()
    const unread = files.filter(isUnread)
    for (let at = 0; at < unread.length; at += AT_ONCE)
      await Promise.all(unread.slice(at, at + AT_ONCE).map((file) => this.#readItem(file)))
    const items = files.flatMap(({ path }) => this.#known.get(path) ?? [])
    const isCopied = ({ path }: ItemFile) => this.#known.get(path)?.run !== undefined
    if (unread.some(isCopied) && this.#isWritten) await this.#writeCopy(files.filter(isCopied))
    return items
  }

  async #filesOf(kind: ItemKind): Promise<readonly ItemFile[]> {
    const names = (await this.#folderOf(kind).list()).filter((name) => name.endsWith(".md")).slice(0, MAX_READ)
    return names.map((name) => ({ kind, name, path: `${kind}/${name}` }))
  }

  async #readItem({ kind, name, path }: ItemFile): Promise<void> {
    const bytes = await this.#folderOf(kind).read(name)
    this.#known.set(path, bytes && parseItem(kind, name.slice(0, -3), bytes))
  }

  /** Of files that it has no copy of, the items are read. */
  async #readCopy(): Promise<void> {
    if (this.#hasCopy) return
    this.#hasCopy = true
    const bytes = await this.#shared.folder(this.#folder).read(COPY)
    for (const [path, item] of copiedItems(bytes)) if (!this.#known.has(path)) this.#known.set(path, item)
  }

  async #writeCopy(files: readonly ItemFile[]): Promise<void> {
    const copies = files.flatMap(({ path }) => {
      const item = this.#known.get(path)
      return item ? [[path, item] as const] : []
    })
    await this.#shared.folder(this.#folder).replace(COPY, new TextEncoder().encode(JSON.stringify(copies)))
  }

  #folderOf(kind: ItemKind) {
    return this.#shared.folder(`${this.#folder}/${folders[kind]}`)
  }
}

interface ItemFile {
  readonly kind: ItemKind
  readonly name: string
  /** Among the files of all kinds. */
  readonly path: string
}

export function itemId(key: string): string {
  return sha256(key).slice(0, 20)
}

/** A model cannot hide what a person wrote, nor an item of another kind. */
export function mayReplace(newer: MemoryItem, older: MemoryItem): boolean {
  return newer.kind === older.kind && (newer.run === undefined || older.run !== undefined)
}

function current(items: readonly MemoryItem[]): readonly MemoryItem[] {
  const corrections = items.filter(({ replaces }) => replaces !== undefined)
  return items.filter(
    (item) => !corrections.some((newer) => newer !== item && newer.replaces === item.id && mayReplace(newer, item)),
  )
}

const newestFirst = (left: MemoryItem, right: MemoryItem) => ((left.at ?? "") < (right.at ?? "") ? 1 : -1)

/** A copy that cannot be read has no items: they are read from their files. */
function copiedItems(bytes: Uint8Array | null): readonly (readonly [path: string, item: MemoryItem])[] {
  if (bytes === null) return []
  try {
    const copies: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return Array.isArray(copies) ? copies.flatMap(copiedItem) : []
  } catch {
    return []
  }
}

function copiedItem(copy: unknown): readonly (readonly [path: string, item: MemoryItem])[] {
  const [path, item]: readonly unknown[] = Array.isArray(copy) ? copy : []
  if (typeof path !== "string" || !isJsonObject(item)) return []
  const kind = itemKinds.find((each) => path === `${each}/${String(item.id)}.md`)
  const { id, text, run } = item
  // What a copy says of a person would outrank the models.
  if (kind === undefined || typeof id !== "string" || typeof text !== "string" || typeof run !== "string") return []
  const field = (name: "at" | "agent" | "replaces") => {
    const value = item[name]
    return typeof value === "string" ? { [name]: value } : {}
  }
  return [[path, { id, kind, text, run, ...field("at"), ...field("agent"), ...field("replaces") }]]
}

function formatItem({ kind, text, at, run, agent, replaces }: MemoryItem): string {
  const fields = Object.entries({ kind, at, run, agent, replaces })
  const lines = fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return ["---", ...lines, "---", text, ""].join("\n")
}

/** A person may omit the fields. Null: there is no text. */
function parseItem(kind: ItemKind, id: string, bytes: Uint8Array): MemoryItem | null {
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/)
  const end = lines[0] === "---" ? lines.indexOf("---", 1) : -1
  const fields = new Map(lines.slice(1, Math.max(1, end)).map((line) => [line.split(":")[0] ?? "", afterColon(line)]))
  const text = lines
    .slice(end + 1)
    .join("\n")
    .trim()
  if (text === "") return null
  const field = (name: "at" | "run" | "agent" | "replaces") => {
    const value = fields.get(name)
    return value ? { [name]: value } : {}
  }
  return { id, kind, text, ...field("at"), ...field("run"), ...field("agent"), ...field("replaces") }
}

function afterColon(line: string): string {
  return line.slice(line.indexOf(":") + 1).trim()
}

const folders: Readonly<Record<ItemKind, string>> = { lesson: "lessons", rule: "rules", profile: "profile" }
const COPY = "items.json"
const MAX_READ = 2_000
const AT_ONCE = 16
