import { Pins } from "../../extensions/mcp/pins.ts"
import { scopedStore } from "../../run/extensions/scoped-store.ts"
import { counted, visible } from "../format.ts"
import { chosenServer, noMore, type Subcommand, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("accept", positionals, 1)
    const chosen = await chosenServer("accept", positionals[0], values, output)
    const { name, opened } = chosen
    const { tools, changed } = await withServer(chosen, async (connection) => {
      const listed = await connection.tools()
      const pins = new Pins(scopedStore(opened.store, opened.workspaceId), connection)
      const different = await pins.changed(listed)
      await pins.accept(listed)
      return { tools: listed, changed: different }
    })
    if (values.json) {
      output.printJson({ type: "accepted", server: name, tools: tools.length, changed })
      return 0
    }
    output.print(`Accepted ${counted(tools.length, "tool")} of ${visible(name)} as they are now.`)
    for (const { name: tool, difference } of changed) output.print(`  ${visible(tool)}: ${visible(difference)}`)
    return 0
  },
}
