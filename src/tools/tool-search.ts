import type { Tool, ToolSpec } from "../contract/tool.ts"
import { defineTool } from "./kernel/define-tool.ts"

/** Finds tools by the words of their names and descriptions. */
export function toolSearchTool(tools: readonly ToolSpec[]): Tool {
  const entries = tools.map((tool) => ({ tool, name: wordsOf(tool.name), description: wordsOf(tool.description) }))
  return defineTool({
    name: "ToolSearch",
    description:
      "Searches the available tools by words in their names and descriptions. Returns names with descriptions, the " +
      `best match first, at most ${mostResults}.`,
    effect: "none",
    input: {
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
      const wanted = new Set(wordsOf(query))
      const found = entries
        .map((entry) => ({ ...entry, score: scoreOf(entry, wanted, query) }))
        .filter(({ score }) => score > 0)
        .sort((left, right) => right.score - left.score || (left.tool.name < right.tool.name ? -1 : 1))
      if (found.length === 0) return `No tool matches ${JSON.stringify(query)}; there are ${entries.length} tools.`
      const lines = found.slice(0, limit).map(({ tool }) => `${tool.name}: ${tool.description}`)
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

interface Entry {
  readonly tool: ToolSpec
  readonly name: readonly string[]
  readonly description: readonly string[]
}

/** A word counts once, with its best match: as the name, in the name, in the description, as part of a word. */
function scoreOf({ tool, name, description }: Entry, wanted: ReadonlySet<string>, query: string): number {
  let score = tool.name.toLowerCase() === query.trim().toLowerCase() ? 100 : 0
  for (const word of wanted) {
    if (name.includes(word)) score += 10
    else if (description.includes(word)) score += 4
    else if (word.length >= shortestPart && name.some((each) => each.includes(word))) score += 3
    else if (word.length >= shortestPart && description.some((each) => each.includes(word))) score += 1
  }
  return score
}

const shortestPart = 3

/** `readTextFile`, `read_text_file` and "Read text file" have the same words. */
function wordsOf(text: string): readonly string[] {
  const apart = text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
  return apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
