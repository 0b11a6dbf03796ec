import { existsSync } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join, relative, resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import { errnoOf } from "../../hosts/node/errno.ts"
import { trustFile } from "../../hosts/node/shell/command-record.ts"
import { type Command, commonOptions, invocation, parseCommandLine, UsageError } from "../arguments.ts"
import { dataName } from "../config/file.ts"
import { shellWord, visible } from "../format.ts"
import type { Output } from "../output.ts"

const options = {
  force: { type: "boolean", help: "Overwrite existing files." },
  ...commonOptions,
} as const

const exampleName = "longhaul-example.mjs"

export const command: Command = {
  summary: `Write ${dataName}, with every setting explained, and ${exampleName}, a small program.`,
  usage: "[options] [folder]",
  options,
  completes: "folder",
  notes: ["Without a folder: the current one. Existing files are kept unless --force is given."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("init", args, options)
    const [given = ".", extra] = positionals
    if (extra !== undefined) {
      throw new UsageError(
        "init takes at most one folder.",
        `Name one folder, quoted if it contains spaces: ${invocation()} init <folder>`,
      )
    }
    const folder = resolve(given)
    const { configTemplate, exampleTemplate } = await import("../templates.ts")
    const files = { [dataName]: configTemplate(), [exampleName]: exampleTemplate() }
    const existing = Object.keys(files).filter((name) => existsSync(join(folder, name)))
    if (existing.length > 0 && !values.force) throw alreadyThere(existing, folder)
    await writeFiles(folder, files, values.force ?? false)
    trustFile(join(folder, dataName), files[dataName] ?? "")
    const written = Object.keys(files)
    if (values.json) output.printJson({ folder, written, overwritten: existing })
    else printWritten(folder, written, existing, output)
    return 0
  },
}

function alreadyThere(names: readonly string[], folder: string): UsageError {
  const are = names.length === 1 ? "is" : "are"
  return new UsageError(
    `${names.join(" and ")} ${are} already in ${folder}; nothing was written.`,
    "Overwrite with --force, or name another folder.",
  )
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>, overwrite: boolean): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    for (const [name, text] of Object.entries(files)) {
      // A symbolic link at the file's path is replaced, not followed.
      if (overwrite) await rm(join(folder, name), { force: true })
      await writeFile(join(folder, name), text, { flag: "wx" })
    }
  } catch (cause) {
    throw new LonghaulError("config_invalid", `Could not write the files in ${folder}: ${errnoOf(cause)}.`, {
      cause,
      fix: "Check the folder and its permissions, or name another.",
    })
  }
}

function printWritten(
  folder: string,
  written: readonly string[],
  overwritten: readonly string[],
  { print, colours }: Output,
): void {
  const place = relative(process.cwd(), folder)
  const row = (name: string, text: string) => print(`${colours.dim(name.padEnd(9))}${visible(text)}`)
  for (const name of written) row(overwritten.includes(name) ? "replaced" : "wrote", join(place, name))
  if (place !== "") row("next", `cd ${shellWord(place)}`)
  row(place === "" ? "next" : "", `${invocation()} run "List the files here and say what they are about"`)
  row("", `node ${exampleName}  # after: npm install longhaul`)
}
