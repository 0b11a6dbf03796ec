import { type Command, commonOptions, parseCommandLine, storeOption, UsageError } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import type { Subcommand } from "../knowledge/subcommand.ts"
import { openStore } from "../read-store.ts"

const options = {
  base: { type: "string", value: "<name>", help: "With search: only this knowledge base." },
  limit: { type: "string", value: "<n>", help: "With search: maximum number of sections. Default: 5." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

/** Each is loaded when it is called. */
const subcommands: Readonly<Record<string, () => Promise<{ readonly subcommand: Subcommand }>>> = {
  list: () => import("../knowledge/list.ts"),
  search: () => import("../knowledge/search.ts"),
  show: () => import("../knowledge/show.ts"),
  add: () => import("../knowledge/add.ts"),
  index: () => import("../knowledge/index-base.ts"),
}

export const command: Command = {
  summary: "Add, index, search and show the documents that runs with --knowledge can use.",
  usage: "[options] list | search <words…> | show <ref> | add <base> <file…> | index [<base>]",
  options,
  completes: Object.keys(subcommands),
  notes: [
    "list     List the knowledge bases, their files and the state of their indexes.",
    "search   Search all bases, as the tool SearchKnowledge does. Exit code 1: nothing matches.",
    "show     Print a section or a file by its reference, such as handbook/leave.md#carry-over.",
    "add      Copy files into a base, or into a folder of it, and index the base.",
    "index    Write the index of a base, or of all, so that runs need not build it.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("knowledge", args, options)
    const [name, ...rest] = positionals
    const load = name !== undefined && Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
    if (load === undefined) {
      const what = name === undefined ? "Missing subcommand for knowledge" : `Unknown subcommand of knowledge: ${name}`
      throw new UsageError(`${what}.`, `Use one of: ${Object.keys(subcommands).join(", ")}.`)
    }
    const [{ subcommand }, opened] = await Promise.all([load(), openStore(values, output)])
    return subcommand.run(rest, values, output, opened)
  },
}
