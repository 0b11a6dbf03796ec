import { UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import { explained, libraryOf, noMore, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, { json }, output, opened) {
    noMore("show", positionals, 1)
    const [ref] = positionals
    if (ref === undefined) {
      throw new UsageError("Missing reference for knowledge show.", "Use one that search prints: base/file.md#section.")
    }
    const library = await libraryOf(opened, output)
    const { text, sections } = await explained(library.read(ref, { signal: new AbortController().signal }))
    if (json) output.printJson({ ref, text, sections })
    else output.print(visible(text))
    return 0
  },
}
