import { numberOption, UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import { explained, libraryOf, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, { base, limit, json }, output, opened) {
    const query = positionals.join(" ").trim()
    if (query === "") throw new UsageError("Missing words for knowledge search.", "Say what to look for.")
    const most = numberOption("limit", limit, { from: 1, to: 50, whole: true }) ?? 5
    const library = await libraryOf(opened, output)
    const hits = await explained(library.search(query, { limit: most, base }))
    if (json) output.printJson({ query, hits })
    else if (hits.length === 0) output.print("No section matches.")
    else {
      for (const { ref, title, snippet, neighbours } of hits) {
        output.print(`${visible(ref)}\n  ${visible(title)}\n  ${visible(snippet)}`)
        if (neighbours.length > 0) output.print(`  Links to: ${visible(neighbours.join(", "))}`)
      }
    }
    return hits.length > 0 ? 0 : 1
  },
}
