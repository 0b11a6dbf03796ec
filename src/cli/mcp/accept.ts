import { changedTools, Pins } from "../../extensions/mcp/pins.ts"
import { scopedStore } from "../../runtime/extensions/scoped-store.ts"
import { counted, visible } from "../format.ts"
import { openStore } from "../read-store.ts"
import { cliWorkspace, noMore, type Subcommand, serverNamed, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("accept", positionals, 1)
    const chosen = await serverNamed("accept", positionals[0], values)
    const { name, server } = chosen
    const { store } = await openStore(values, output)
    const tools = await withServer(chosen, (connection) => connection.tools())
    const pins = new Pins(scopedStore(store, cliWorkspace), name, server)
    const changed = changedTools(await pins.pinned(tools), tools)
    await pins.accept(tools)
    if (values.json) {
      output.printJson({ type: "accepted", server: name, tools: tools.length, changed })
      return 0
    }
    output.print(`Accepted ${counted(tools.length, "tool")} of ${visible(name)} as they are now.`)
    for (const { name: tool, difference } of changed) output.print(`  ${visible(tool)}: ${visible(difference)}`)
    return 0
  },
}
