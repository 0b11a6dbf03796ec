import type { Tool, ToolSpec } from "../contract/tool.ts"
import { usesNothing } from "../lib/access/arguments.ts"
import { toolSpec } from "../lib/schema/contract-shapes.ts"
import { checkArgument, listOf } from "../lib/schema/shape.ts"
import { toolRanking } from "../lib/text/rank-tools.ts"
import { defineTool } from "./kernel/define-tool.ts"

/** Finds tools by the words of their names and descriptions. */
export function toolSearchTool(tools: readonly ToolSpec[]): Tool {
  checkArgument("tools", tools, listOf(toolSpec))
  const rank = toolRanking(tools)
  return defineTool({
    name: "ToolSearch",
    description:
      "Searches the available tools by words in their names and descriptions. Returns names with descriptions, the " +
      `best match first, at most ${mostResults}.`,
    uses: usesNothing,
    effect: "none",
    inputSchema: {
      type: "object",
      properties: {
        query: {
          type: "string",
          minLength: 1,
          maxLength: 400,
          description: "A name, or words that describe the needed tool.",
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: mostResults,
          default: 10,
          description: "Maximum number of tools to return.",
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
    run: ({ query, limit }: ToolSearchArgs) => {
      const found = rank(query)
      if (found.length === 0) return `No tool matches ${JSON.stringify(query)}; there are ${tools.length} tools.`
      const lines = found.slice(0, limit).map(({ name, description }) => `${name}: ${description}`)
      const more = found.length > limit ? [`[${found.length - limit} weaker matches omitted]`] : []
      return [...lines, ...more].join("\n\n")
    },
  })
}

interface ToolSearchArgs {
  readonly query: string
  readonly limit: number
}

const mostResults = 50
