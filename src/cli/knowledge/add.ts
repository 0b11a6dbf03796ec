import { readFile } from "node:fs/promises"
import { basename } from "node:path"
import { placeIn } from "../../extensions/knowledge/catalogue.ts"
import { formatOf, knowledgeFormats } from "../../extensions/knowledge/formats.ts"
import { checkedFolder, INDEX_NAME, isSafeName } from "../../extensions/knowledge/refs.ts"
import { UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import type { OpenStore } from "../read-store.ts"
import { writeIndex } from "./index-base.ts"
import type { Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, { json }, output, opened) {
    const [given, ...paths] = positionals
    if (given === undefined || paths.length === 0) {
      throw new UsageError("Missing base or file for knowledge add.", "Write: longhaul knowledge add <base> <file…>.")
    }
    const folder = checkedFolder("The base", given)
    const documents = await Promise.all(paths.map(readDocument))
    for (const { name, bytes } of documents) await put(opened, folder, name, bytes)
    const [base = ""] = folder.split("/")
    const index = await writeIndex(opened, base)
    const added = documents.map(({ name }) => `${folder}/${name}`)
    if (json) output.printJson({ added, index })
    else {
      for (const ref of added) output.print(`Added ${visible(ref)}`)
      for (const { path, reason } of index.failed) output.complain(visible(`${path} is not in the index. ${reason}`))
    }
    return 0
  },
}

async function readDocument(path: string): Promise<{ readonly name: string; readonly bytes: Uint8Array }> {
  const name = basename(path)
  if (formatOf(name) === undefined || name === INDEX_NAME) {
    const fix = `Add files that end in one of: ${knowledgeFormats.map((format) => `.${format}`).join(", ")}.`
    throw new UsageError(`${path} has no format that can be searched.`, fix)
  }
  if (!isSafeName(name)) {
    throw new UsageError(
      `${JSON.stringify(name)} is not a safe name.`,
      "Use letters, digits, spaces, dots and hyphens.",
    )
  }
  const bytes = await readFile(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${code ?? message}.`, "Check the path.")
  })
  return { name, bytes }
}

/** A new document is durable when it is created; one that exists is replaced as a whole. */
async function put({ store, workspaceId }: OpenStore, path: string, name: string, bytes: Uint8Array): Promise<void> {
  const folder = store.folder(`${placeIn(store, workspaceId).root}/${path}`)
  if ((await folder.create(name, bytes)) === "exists") await folder.replace(name, bytes)
}
