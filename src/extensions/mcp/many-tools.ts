import type { Json } from "../../contract/json.ts"
import { type Tool, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { isJsonObject } from "../../lib/json.ts"
import { toolRanking } from "../../lib/text/rank-tools.ts"

/** More tools than this, or a larger part of the model's context, and only their names are listed. */
const MAX_LISTED = 40
const MAX_PART = 0.1
const CHARACTERS_PER_TOKEN = 4

export function areTooMany(tools: readonly Tool[], contextTokens: number | undefined): boolean {
  if (tools.length > MAX_LISTED) return true
  if (contextTokens === undefined) return false
  const text = tools
    .map(({ name, description, inputSchema }) => name + description + JSON.stringify(inputSchema))
    .join("")
  return text.length / CHARACTERS_PER_TOKEN > contextTokens * MAX_PART
}

/** The names of the tools, for the prompt. */
export function namesOf(tools: readonly Tool[]): string {
  return [
    "Further tools are available. ToolSearch returns their descriptions and the schemas of their arguments, CallTool calls them:",
    ...tools.map(({ name }) => `- ${name}`),
  ].join("\n")
}

/** ToolSearch and CallTool: the model's own list of tools stays short and never changes. */
export function searchedTools(tools: readonly Tool[]): readonly Tool[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return [toolSearch(tools), callTool(byName)]
}

function toolSearch(tools: readonly Tool[]): Tool {
  const rank = toolRanking(tools)
  return {
    name: "ToolSearch",
    description: "Searches the further tools by words of their names and descriptions, and returns how to call them.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 400, description: "Names or words, separated by spaces." },
        limit: { type: "integer", minimum: 1, maximum: 20, default: 5, description: "Maximum number of tools." },
      },
      required: ["query"],
      additionalProperties: false,
    },
    uses: usesNothing,
    effect: "none",
    concurrent: true,
    risk: "low",
    run(args) {
      const { query, limit } = readArgs(args)
      const found = rank(query).slice(0, limit)
      if (found.length === 0) return `No tool matches ${JSON.stringify(query)}.`
      return found
        .map(
          ({ name, description, inputSchema }) => `${name}: ${description}\narguments: ${JSON.stringify(inputSchema)}`,
        )
        .join("\n\n")
    },
  }
}

function readArgs(args: unknown): { readonly query: string; readonly limit: number } {
  const { query, limit } = isJsonObject(args) ? args : {}
  return { query: typeof query === "string" ? query : "", limit: typeof limit === "number" ? limit : 5 }
}

function callTool(byName: ReadonlyMap<string, Tool>): Tool {
  const find = (args: unknown): { readonly tool: Tool; readonly args: Json } => {
    const { name, args: given = {} } = isJsonObject(args) ? args : {}
    const tool = byName.get(typeof name === "string" ? name : "")
    if (tool) return { tool, args: given }
    throw new ToolError("not_found", `${JSON.stringify(name)} is not one of the further tools. ToolSearch finds them.`)
  }
  return {
    name: "CallTool",
    description: "Calls one of the further tools. ToolSearch says what it does and which arguments it takes.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", enum: [...byName.keys()], description: "The name of the tool." },
        args: { type: "object", description: "Its arguments." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    effect: "once",
    concurrent: false,
    risk: "high",
    inner(args) {
      const { tool, args: given } = find(args)
      return { tool, args: given, outer: (changed) => ({ name: tool.name, args: changed }) }
    },
    run(args, context) {
      const { tool, args: given } = find(args)
      return tool.run(given, context)
    },
  }
}
