import type { ToolStatus } from "../contract/tool.ts"

/** One tool call of the run and its result. */
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

/** The results as sections of Markdown, searches first. Nothing comes from anywhere else. */
export function describeFacts(facts: readonly ToolFact[], words: readonly string[]): readonly string[] {
  const matches = matchesIn(facts)
  const used = (name: string) => facts.filter((fact) => fact.name === name && fact.status === "ok")
  const sections = [
    ...used("Grep").map((fact) => describeMatches(fact.target, matches, words)),
    ...used("Read").map((fact) => describeFile(fact, matches)),
    ...used("List").map((fact) => [`## Workspace: ${entriesIn([fact]).length} entries`, bulleted(entriesIn([fact]))]),
  ]
  return [...sections.map((section) => section.filter((text) => text !== "").join("\n\n")), ...problems(facts)]
}

export function entriesIn(facts: readonly ToolFact[]): string[] {
  const lines = facts.filter(({ name, status }) => name === "List" && status === "ok").flatMap((fact) => fact.lines)
  // Lines in brackets are the tool's own notices.
  return lines.filter((line) => !/^[[(\u2026]/.test(line))
}

export function matchesIn(facts: readonly ToolFact[]): readonly Match[] {
  const lines = facts.filter(({ name, status }) => name === "Grep" && status === "ok").flatMap((fact) => fact.lines)
  return lines.flatMap((line) => {
    const [, path, number, text] = /^(.+?):(\d+):(.*)$/.exec(line) ?? []
    return path && number ? [{ path: path.replace(/^\.\//, ""), line: number, text: (text ?? "").trim() }] : []
  })
}

const lineLimit = 20

/** With a heading per word if there are several. */
function describeMatches(pattern: string, matches: readonly Match[], words: readonly string[]): readonly string[] {
  const files = unique(matches.map(({ path }) => path)).length
  const shown = (some: readonly Match[]) => bulleted(some.map(({ path, line, text }) => `${path}:${line}: ${text}`))
  const title = `## Search: ${matches.length} matching lines in ${files} files`
  if (words.length < 2) return [title, `Pattern: \`${pattern}\``, shown(matches)]
  const groups = words.map((word) => {
    const found = matches.filter(({ text }) => text.toLowerCase().includes(word.toLowerCase()))
    return { title: `### ${word}: ${found.length}`, found }
  })
  return [title, `Pattern: \`${pattern}\``, ...groups.flatMap((group) => [group.title, shown(group.found)])]
}

/** Its heading and first lines, without those that the search has shown. */
function describeFile({ target, lines }: ToolFact, matches: readonly Match[]): readonly string[] {
  const numbered = lines.filter((line) => /^\s*\d+\t/.test(line)).map((line) => line.replace(/^\s*\d+\t/, ""))
  const heading = numbered.find((line) => line.startsWith("#"))
  const isMatch = (line: string) => matches.some(({ path, text }) => path === target && text === line.trim())
  const opening = numbered.filter((line) => line.trim() !== "" && line !== heading && !isMatch(line)).slice(0, 3)
  return [`## ${target}: ${numbered.length} lines read`, bulleted(heading ? [heading, ...opening] : opening)]
}

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
