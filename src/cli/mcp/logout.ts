import { join } from "node:path"
import { loginKey } from "../../extensions/mcp/oauth.ts"
import { fileTokens } from "../../hosts/node/mcp/token-store.ts"
import { defaultStoreRoot } from "../../hosts/node/store/state-folder.ts"
import { visible } from "../format.ts"
import { chosenServer, noMore, type Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("logout", positionals, 1)
    const { name, server, tenant } = await chosenServer("logout", positionals[0], values, output)
    if ("url" in server) {
      await fileTokens(join(defaultStoreRoot(), "mcp-logins")).delete(loginKey({ tenant, name, server }))
    }
    if (values.json) output.printJson({ type: "logged-out", server: name })
    else output.print(`This computer no longer has a login for ${visible(name)}.`)
    return 0
  },
}
