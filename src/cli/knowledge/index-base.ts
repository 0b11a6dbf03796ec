import { counted, visible } from "../format.ts"
import type { OpenStore } from "../read-store.ts"
import { libraryOf, noMore, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, { json }, output, opened) {
    noMore("index", positionals, 1)
    const [given] = positionals
    const bases = given === undefined ? (await libraryOf(opened, output)).bases.map(({ name }) => name) : [given]
    const written: WrittenIndex[] = []
    for (const base of bases) written.push(await writeIndex(opened, base))
    if (json) output.printJson({ indexes: written })
    else {
      if (written.length === 0) output.print("There is no knowledge to index.")
      for (const { base, files, sections, failed } of written) {
        output.print(`${visible(base)}: ${counted(files, "file")}, ${counted(sections, "section")}`)
        for (const { path, reason } of failed) output.complain(visible(`${base}/${path} is left out. ${reason}`))
      }
    }
    return written.some(({ failed }) => failed.length > 0) ? 1 : 0
  },
}

export interface WrittenIndex {
  readonly base: string
  readonly files: number
  readonly sections: number
  readonly failed: readonly { readonly path: string; readonly reason: string }[]
}

export async function writeIndex({ store, workspaceId }: OpenStore, base: string): Promise<WrittenIndex> {
  const { writeKnowledgeIndex } = await import("../../hosts/node/knowledge/index.ts")
  const { index, failed } = await writeKnowledgeIndex({ store, workspaceId, base })
  const sections = index.files.reduce((sum, file) => sum + file.sections.length, 0)
  return { base, files: index.files.length, sections, failed }
}
