import { loopbackPage } from "../../hosts/node/mcp/login-page.ts"
import { numberOption, UsageError } from "../arguments.ts"
import { visible } from "../format.ts"
import { listening, stopSignal } from "../serving.ts"
import { chosenServer, noMore, type Subcommand, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("login", positionals, 1)
    const chosen = await chosenServer("login", positionals[0], values, output)
    const { name, server } = chosen
    if ("command" in server) {
      throw new UsageError(`${name} is a program: it has no login.`, "Pass its credentials in env.")
    }
    const { signal } = stopSignal()
    const port = numberOption("port", values.port, { from: 0, to: 65_535, whole: true })
    const show = (url: URL) => {
      if (values.json) output.printJson({ type: "login", server: name, url: url.href })
      else output.print(`Open this address in a browser and log in:\n\n  ${url.href}\n\nPress Ctrl-C to stop.`)
    }
    const page = await listening("127.0.0.1", port ?? 0, () => loopbackPage(show, signal, { port }))
    try {
      const tools = await withServer(chosen, (connection) => connection.tools(), { page, signal })
      if (values.json) output.printJson({ type: "logged-in", server: name, tools: tools.length })
      else output.print(`Logged in to ${visible(name)}, which has ${tools.length} tools.`)
      return 0
    } finally {
      await page.close()
    }
  },
}
