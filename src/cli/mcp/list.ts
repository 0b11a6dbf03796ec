import { readMcpServers } from "../../hosts/node/mcp/config-file.ts"
import { counted, visible } from "../format.ts"
import { configPath, noMore, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("list", positionals, 0)
    const path = configPath(values)
    const servers = Object.entries(await readMcpServers(path)).map(([name, server]) => ({
      name,
      type: "command" in server ? "stdio" : (server.type ?? "http"),
      // Arguments and headers may hold secrets.
      target: "command" in server ? server.command : new URL(server.url).origin,
    }))
    if (values.json) {
      output.printJson({ file: path, servers })
      return 0
    }
    output.print(`${visible(path)} has ${counted(servers.length, "server")}.`)
    for (const { name, type, target } of servers) output.print(`  ${visible(name)}  ${type}  ${visible(target)}`)
    return 0
  },
}
