import type { ExtensionRun } from "../../contract/extension.ts"
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

/** The items of a workspace. Each file is read once: it never changes. */
export class MemoryItems {
  readonly #shared: ExtensionRun["shared"]
  readonly #folder: string
  readonly #known = new Map<string, MemoryItem | null>()

  constructor(shared: ExtensionRun["shared"], space: string | undefined) {
    this.#shared = shared
    this.#folder = memoryFolder(space)
  }

  get location(): string {
    return this.#shared.folder(this.#folder).location
  }

  /** The items that no other one replaces, and the documents that people keep, the newest first. */
  async all(): Promise<readonly MemoryItem[]> {
    const lists = await Promise.all(itemKinds.map((kind) => this.#ofKind(kind)))
    return current(lists.flat()).toSorted((left, right) => ((left.at ?? "") < (right.at ?? "") ? 1 : -1))
  }

  /** One file of the folder that people write as a whole. */
  async document(name: "profile.md" | "rules.md"): Promise<string> {
    const bytes = await this.#shared.folder(this.#folder).read(name)
    return bytes === null ? "" : new TextDecoder().decode(bytes).trim()
  }

  count(kind: ItemKind): Promise<number> {
    return this.#folderOf(kind)
      .list()
      .then(({ length }) => length)
  }

  has(kind: ItemKind, id: string): Promise<boolean> {
    return this.#folderOf(kind).exists(`${id}.md`)
  }

  /** A second attempt with the same id leaves the first one as it is. */
  async create(item: MemoryItem): Promise<void> {
    await this.#folderOf(item.kind).create(`${item.id}.md`, new TextEncoder().encode(formatItem(item)))
  }

  async #ofKind(kind: ItemKind): Promise<readonly MemoryItem[]> {
    const folder = this.#folderOf(kind)
    const names = (await folder.list()).filter((name) => name.endsWith(".md")).slice(0, MAX_READ)
    const unread = names.filter((name) => !this.#known.has(`${kind}/${name}`))
    for (let at = 0; at < unread.length; at += AT_ONCE) {
      await Promise.all(
        unread.slice(at, at + AT_ONCE).map(async (name) => {
          const bytes = await folder.read(name)
          this.#known.set(`${kind}/${name}`, bytes && parseItem(kind, name.slice(0, -3), bytes))
        }),
      )
    }
    return names.flatMap((name) => this.#known.get(`${kind}/${name}`) ?? [])
  }

  #folderOf(kind: ItemKind) {
    return this.#shared.folder(`${this.#folder}/${folders[kind]}`)
  }
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
const MAX_READ = 2_000
const AT_ONCE = 16
