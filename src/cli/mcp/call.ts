import { callWithInput } from "../../extensions/mcp/asked-call.ts"
import { resultParts } from "../../extensions/mcp/content.ts"
import { attachmentLabel } from "../../lib/content.ts"
import { UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import { chosenServer, jsonArgument, noMore, type Subcommand, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("call", positionals, 3)
    const [server, tool, text = "{}"] = positionals
    const chosen = await chosenServer("call", server, values, output)
    if (tool === undefined) throw new UsageError("Missing tool for mcp call.", "See `longhaul mcp tools <server>`.")
    const args = jsonArgument("tool", text)
    const signal = new AbortController().signal
    const result = await withServer(chosen, (connection) =>
      callWithInput(connection, tool, args, { signal, progress: (message) => output.complain(visible(message)) }),
    )
    if (values.json) output.printJson({ server: chosen.name, tool, ...result })
    else {
      for (const part of resultParts(result))
        output.print(part.type === "text" ? visible(part.text) : attachmentLabel(part))
    }
    return result.isError ? 1 : 0
  },
}
