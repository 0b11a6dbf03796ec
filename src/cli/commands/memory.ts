import { resolve } from "node:path"
import { Episodes } from "../../extensions/memory/episodes.ts"
import { type ItemKind, itemId, itemKinds, type MemoryItem, MemoryItems } from "../../extensions/memory/items.ts"
import { newNonce } from "../../lib/id.ts"
import { scopedStore } from "../../run/extensions/scoped-store.ts"
import { type Command, commonOptions, parseCommandLine, storeOption, UsageError } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { clip, counted, visible } from "../format.ts"
import { openStore, requireNamedStore } from "../read-store.ts"
import { memorySpace } from "../run-extensions.ts"

const options = {
  workspace: { type: "string", value: "<dir>", help: "Folder of the runs. Default: the current one." },
  kind: {
    type: "string",
    value: "<kind>",
    values: itemKinds,
    help: `For add: ${itemKinds.join(", ")}. Default: lesson.`,
  },
  replaces: { type: "string", value: "<id>", help: "For add: the item that it corrects." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Show, add or delete what runs in a folder remember with --memory.",
  usage: "[options] list | show <id> | add <text…> | rm <id>",
  options,
  completes: ["list", "show", "add", "rm"],
  notes: [
    "Rules and the profile are given to every run; of the lessons, those closest to its task.",
    "An item is one file, which is never changed: correct it with --replaces, or delete it with rm.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("memory", args, options)
    const opened = await openStore(values, output)
    const shared = scopedStore(opened.store, opened.workspaceId)
    const space = memorySpace(resolve(values.workspace ?? "."))
    const items = new MemoryItems(shared, space, false)
    const [subcommand = "list", ...rest] = positionals
    if (subcommand === "add") {
      requireNamedStore("adding to a memory", opened)
      const item = await added(items, rest.join(" ").trim(), kindOf(values.kind), values.replaces)
      if (values.json) output.printJson(item)
      else output.print(`Remembered as ${item.id}.`)
      return 0
    }
    const all = await items.all()
    if (subcommand === "show") {
      const item = itemNamed(all, rest[0])
      if (values.json) output.printJson(item)
      else output.print(visible(`${labelOf(item)}\n${item.text}`))
      return 0
    }
    if (subcommand === "rm") {
      requireNamedStore("deleting from a memory", opened)
      const item = itemNamed(all, rest[0])
      await items.remove(item)
      if (values.json) output.printJson(item)
      else output.print(`Deleted ${item.id}.`)
      return 0
    }
    if (subcommand !== "list" || rest.length > 0) {
      throw new UsageError(
        `Unexpected argument for memory: ${JSON.stringify(rest[0] ?? subcommand)}.`,
        "Use list, show, add or rm.",
      )
    }
    const episodes = await new Episodes(shared, space).all()
    if (values.json) {
      output.printJson({ location: items.location, items: all, episodes })
      return 0
    }
    output.print(
      `${counted(all.length, "item")} and ${counted(episodes.length, "episode")} in ${visible(items.location)}`,
    )
    for (const item of all) {
      output.print(`  ${visible(labelOf(item))}`)
      output.print(`    ${clip(visible(item.text).replaceAll("\n", " "), 200)}`)
    }
    return 0
  },
}

async function added(
  items: MemoryItems,
  text: string,
  kind: ItemKind,
  replaces: string | undefined,
): Promise<MemoryItem> {
  if (text === "") throw new UsageError("Missing text for memory add.", "Write what runs should remember.")
  if (replaces !== undefined && itemNamed(await items.all(), replaces).kind !== kind) {
    throw new UsageError(`${replaces} is of another kind.`, "Add --kind with its kind.")
  }
  const at = new Date().toISOString()
  const item: MemoryItem = { id: itemId(newNonce()), kind, text, at, replaces }
  await items.create(item)
  return item
}

function itemNamed(all: readonly MemoryItem[], id: string | undefined): MemoryItem {
  const found = id === undefined || id === "" ? [] : all.filter((item) => item.id.startsWith(id))
  const [item, another] = found
  if (item !== undefined && another === undefined) return item
  if (id === undefined) throw new UsageError("Missing id.", "List the items with: memory list.")
  const message = item === undefined ? "There is no item" : "More than one item has an id that starts with"
  throw new UsageError(`${message} ${JSON.stringify(id)}.`, "List the items with: memory list.")
}

function labelOf({ id, kind, run, at }: MemoryItem): string {
  return [id, kind, run === undefined ? "by a person" : `by ${run}`, ...(at === undefined ? [] : [at])].join("  ")
}

function kindOf(given: string = "lesson"): ItemKind {
  const kind = itemKinds.find((each) => each === given)
  if (kind !== undefined) return kind
  throw new UsageError(`Invalid value for --kind: ${JSON.stringify(given)}.`, `Use one of: ${itemKinds.join(", ")}.`)
}
