import { definitionsOf } from "../../extensions/mcp/definitions.ts"
import { clip, counted, visible } from "../format.ts"
import { chosenServer, noMore, type Subcommand, withServer } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(positionals, values, output) {
    noMore("tools", positionals, 1)
    const chosen = await chosenServer("tools", positionals[0], values, output)
    const { name } = chosen
    const found = await withServer(chosen, async (connection) => ({
      tools: definitionsOf(name, await connection.tools()),
      prompts: await connection.prompts(),
      ...(await connection.resources()),
    }))
    const { tools, prompts, resources, templates } = found
    if (values.json) {
      output.printJson({ server: name, tools, prompts, resources, templates })
      return 0
    }
    output.print(`${visible(name)} has ${counted(tools.length, "tool")}.`)
    for (const { tool, description } of tools) {
      output.print(`  ${visible(tool)}`)
      if (description !== "") output.print(output.colours.dim(`    ${clip(visible(description), 100)}`))
    }
    if (prompts.length > 0) output.print(`Prompts: ${visible(prompts.map((prompt) => prompt.name).join(", "))}`)
    const addresses = [...resources.map(({ uri }) => uri), ...templates.map(({ uriTemplate }) => uriTemplate)]
    if (addresses.length > 0) output.print(`Resources: ${clip(visible(addresses.join(", ")), 400)}`)
    return 0
  },
}
