import type { ToolSpec } from "../../contract/tool.ts"

/** Finds tools by the words of their names and descriptions. */
export function toolRanking<Spec extends ToolSpec>(tools: readonly Spec[]): (query: string) => readonly Spec[] {
  const entries = tools.map((tool) => ({ tool, name: wordsOf(tool.name), description: wordsOf(tool.description) }))
  return (query) => {
    const wanted = new Set(wordsOf(query))
    return entries
      .map((entry) => ({ tool: entry.tool, score: scoreOf(entry, wanted, query) }))
      .filter(({ score }) => score > 0)
      .sort((left, right) => right.score - left.score || (left.tool.name < right.tool.name ? -1 : 1))
      .map(({ tool }) => tool)
  }
}

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
