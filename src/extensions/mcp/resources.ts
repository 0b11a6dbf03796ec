import { type Tool, ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import type { ServerConnection } from "./connection.ts"
import { resourceParts } from "./content.ts"
import { visible } from "./definitions.ts"
import { callFailure } from "./failure.ts"

/** ListMcpResources and ReadMcpResource, for the servers that have resources. */
export function resourceTools(connections: readonly ServerConnection[]): readonly Tool[] {
  if (connections.length === 0) return []
  const server = { type: "string", enum: connections.map(({ name }) => name), description: "The name of the server." }
  const find = (args: unknown) => {
    const name = isJsonObject(args) ? args.server : undefined
    const found = connections.find((connection) => connection.name === name)
    if (found) return found
    throw new ToolError("not_found", `There is no MCP server ${JSON.stringify(name)} with resources.`)
  }
  const common = { effect: "none", concurrent: true, risk: "low" } as const
  return [
    {
      ...common,
      name: "ListMcpResources",
      description: "Lists the resources of the MCP servers, or of one server: their addresses, names and media types.",
      inputSchema: { type: "object", properties: { server }, additionalProperties: false },
      async run(args) {
        const asked = isJsonObject(args) && args.server !== undefined ? [find(args)] : connections
        return (await Promise.all(asked.map(describeResources))).join("\n\n")
      },
    },
    {
      ...common,
      name: "ReadMcpResource",
      description: "Reads a resource of an MCP server by its address.",
      inputSchema: {
        type: "object",
        properties: { server, uri: { type: "string", minLength: 1, description: "The address of the resource." } },
        required: ["server", "uri"],
        additionalProperties: false,
      },
      async run(args, { signal }) {
        const connection = find(args)
        const uri = isJsonObject(args) && typeof args.uri === "string" ? args.uri : ""
        try {
          return resourceParts((await connection.readResource(uri, signal)).contents)
        } catch (error) {
          throw await callFailure(connection, "none", error)
        }
      },
    },
  ]
}

async function describeResources(connection: ServerConnection): Promise<string> {
  const { name } = connection
  try {
    const { resources, templates } = await connection.resources()
    const lines = [
      ...resources.map(({ uri, name: title, mimeType, description }) => line(uri, title, mimeType, description)),
      ...templates.map(({ uriTemplate, name: title, mimeType, description }) =>
        line(uriTemplate, title, mimeType, description),
      ),
    ]
    return `${name}:\n${lines.join("\n") || "(no resources)"}`
  } catch (error) {
    return `${name}: ${(await callFailure(connection, "none", error)).message}`
  }
}

function line(uri: string, name: string, mediaType: string | undefined, description: string | undefined): string {
  const type = mediaType === undefined ? "" : ` (${mediaType})`
  return visible(`- ${uri} — ${name}${type}${description === undefined ? "" : `: ${description}`}`)
}
