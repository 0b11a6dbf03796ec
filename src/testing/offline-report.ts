import type { ToolStatus } from "../contract/tool.ts"

/** One tool call of the run and what came back. */
export interface ToolFact {
  readonly name: string
  readonly target: string
  readonly status: ToolStatus
  readonly lines: readonly string[]
}

interface Match {
  readonly path: string
  readonly line: string
  readonly text: string
}

/** What the results show, as sections of Markdown. Nothing in it comes from anywhere else. */
export function describeFacts(facts: readonly ToolFact[]): readonly string[] {
  const matches = matchesIn(facts)
  const sections = facts.flatMap((fact) => {
    if (fact.status !== "ok" || fact.name === "Write") return []
    if (fact.name === "List") {
      const entries = entriesIn([fact])
      return [[`## Workspace: ${entries.length} entries`, bulleted(entries)]]
    }
    if (fact.name === "Grep") {
      const title = `## Search: ${matches.length} matching lines in ${unique(matches.map(({ path }) => path)).length} files`
      return [
        [
          title,
          `Pattern: \`${fact.target}\``,
          bulleted(matches.map((match) => `${match.path}:${match.line}: ${match.text}`)),
        ],
      ]
    }
    if (fact.name !== "Read") return []
    const numbered = fact.lines.filter((line) => /^\s*\d+\t/.test(line)).map((line) => line.replace(/^\s*\d+\t/, ""))
    const heading = numbered.find((line) => line.startsWith("#"))
    const opening = numbered.filter((line) => line.trim() !== "" && line !== heading).slice(0, 3)
    return [[`## ${fact.target}: ${numbered.length} lines read`, bulleted(heading ? [heading, ...opening] : opening)]]
  })
  return [...sections.map((section) => section.filter((text) => text !== "").join("\n\n")), ...problems(facts)]
}

export function entriesIn(facts: readonly ToolFact[]): string[] {
  const lines = facts.filter(({ name, status }) => name === "List" && status === "ok").flatMap((fact) => fact.lines)
  // Lines in brackets are the tool's own remarks.
  return lines.filter((line) => !/^[[(…]/.test(line))
}

export function matchesIn(facts: readonly ToolFact[]): readonly Match[] {
  const lines = facts.filter(({ name, status }) => name === "Grep" && status === "ok").flatMap((fact) => fact.lines)
  return lines.flatMap((line) => {
    const [, path, number, text] = /^(.+?):(\d+):(.*)$/.exec(line) ?? []
    return path && number ? [{ path: path.replace(/^\.\//, ""), line: number, text: (text ?? "").trim() }] : []
  })
}

const lineLimit = 20

function problems(facts: readonly ToolFact[]): readonly string[] {
  const failed = facts.filter(({ status }) => status !== "ok")
  if (failed.length === 0) return []
  return [
    `## Problems\n\n${bulleted(failed.map((fact) => `${fact.name} ${fact.target}: ${fact.status}: ${fact.lines[0] ?? ""}`))}`,
  ]
}

function bulleted(lines: readonly string[]): string {
  const rest = lines.length - lineLimit
  return [...lines.slice(0, lineLimit), ...(rest > 0 ? [`… and ${rest} more`] : [])]
    .map((line) => `- ${line}`)
    .join("\n")
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
