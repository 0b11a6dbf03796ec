import { indexState } from "../../extensions/knowledge/base.ts"
import { placeIn } from "../../extensions/knowledge/catalogue.ts"
import { counted, visible } from "../format.ts"
import { libraryOf, noMore, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, { json }, output, opened) {
    noMore("list", positionals, 0)
    const { bases } = await libraryOf(opened, output)
    const place = placeIn(opened.store, opened.workspaceId)
    const listed = await Promise.all(
      bases.map(async ({ name, files }) => ({
        name,
        index: await indexState({ place, base: name, files }),
        files: files.map(({ path }) => path),
      })),
    )
    if (json) output.printJson({ store: opened.store.location, bases: listed })
    else if (listed.length === 0) output.print("There is no knowledge. Add some: longhaul knowledge add <base> <file>.")
    else {
      for (const { name, index, files } of listed) {
        output.print(`${visible(name)}  ${counted(files.length, "file")}, index ${index}`)
        for (const path of files) output.print(`  ${visible(`${name}/${path}`)}`)
      }
    }
    return 0
  },
}
