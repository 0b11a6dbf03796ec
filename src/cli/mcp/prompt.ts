import { contentParts } from "../../extensions/mcp/content.ts"
import { attachmentLabel } from "../../lib/content.ts"
import { UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import { chosenServer, jsonArgument, noMore, type Subcommand, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("prompt", positionals, 3)
    const [server, name, text = "{}"] = positionals
    const chosen = await chosenServer("prompt", server, values, output)
    if (name === undefined) throw new UsageError("Missing prompt for mcp prompt.", "See `longhaul mcp tools <server>`.")
    const given = Object.entries(jsonArgument("prompt", text)).map(([key, value]) => [key, String(value)])
    const { messages } = await withServer(chosen, (connection) => connection.prompt(name, Object.fromEntries(given)))
    if (values.json) {
      output.printJson({ server: chosen.name, prompt: name, messages })
      return 0
    }
    for (const part of messages.flatMap(({ content }) => contentParts(content))) {
      output.print(part.type === "text" ? visible(part.text) : attachmentLabel(part))
    }
    return 0
  },
}
