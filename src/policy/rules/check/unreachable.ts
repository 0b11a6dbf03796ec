import type { Matcher, PolicyDocument, PolicyRule, RuleVerdict } from "../../../contract/policy.ts"
import { canonicalJson } from "../../../lib/json.ts"
import { verdictOf } from "../compile-rule.ts"
import { listOf } from "../glob.ts"
import { readers, writers } from "../known-tools.ts"
import { compileTool } from "../tool-names.ts"

interface Unreachable {
  readonly place: string
  readonly message: string
  readonly fix: string
}

/** Rules that can never decide a call, because a stricter one applies to every call that they apply to. */
export function findUnreachable(
  { rules = [] }: PolicyDocument,
  preset: PolicyDocument | undefined,
): readonly Unreachable[] {
  const own = rules.map((rule, index) => named(rule, `rules[${index}]`))
  const presets = (preset?.rules ?? []).map((rule, index) => named(rule, `rules[${index}] of the preset`))
  const strict = [...presets, ...own].filter(({ verdict, hasExceptions }) => verdict !== "allow" && !hasExceptions)
  return own.flatMap((weak) => {
    const other = strict.find(({ verdict, matcher }) => {
      return ranks[verdict] > ranks[weak.verdict] && includes(matcher, weak.matcher)
    })
    if (other === undefined) return []
    const message = `can never decide: ${other.name} (${other.verdict}) applies to every such call`
    return [{ place: weak.name, message, fix: "Remove it, or give the stricter rule an exception." }]
  })
}

const ranks: Readonly<Record<RuleVerdict, number>> = { allow: 0, ask: 1, deny: 2 }

function named(rule: PolicyRule, name: string) {
  const verdict = verdictOf(rule)
  return { name, verdict, matcher: rule[verdict] ?? everyTool, hasExceptions: rule.except !== undefined }
}

/** The rules were checked: each has a matcher. */
const everyTool: Matcher = {}

/** True only if it is certain. */
function includes(outer: Matcher, inner: Matcher): boolean {
  const toolsFit = listOf(inner.tool ?? "*").every((tool) =>
    listOf(outer.tool ?? "*").some((pattern) => pattern === tool || compileTool(pattern)(tool)),
  )
  if (!toolsFit) return false
  for (const key of keysOfLists) {
    if (outer[key] === undefined) continue
    const patterns = listOf(outer[key])
    const given = listOf(patternsFor(inner, key))
    if (given.length === 0 || !given.every((each) => patterns.includes(each) || patterns.includes("**"))) return false
  }
  if (outer.sandboxed !== undefined && outer.sandboxed !== inner.sandboxed) return false
  return (
    outer.args === undefined || (inner.args !== undefined && canonicalJson(outer.args) === canonicalJson(inner.args))
  )
}

const keysOfLists = [
  "read",
  "write",
  "exec",
  "fetch",
  "command",
  "path",
  "url",
  "agent",
  "backend",
  "workspace",
  "subject",
] as const

/** The patterns of the inner rule for what the key of the outer one is about. */
function patternsFor(inner: Matcher, key: (typeof keysOfLists)[number]): Matcher["path"] {
  const { path, read, write, exec, fetch } = inner
  const isOf = (tools: readonly string[]) => listOf(inner.tool ?? "*").every((tool) => tools.includes(tool))
  switch (key) {
    case "path":
      return path ?? read ?? write
    case "command":
      return inner.command ?? exec
    case "url":
      return inner.url ?? fetch
    // Such tools do nothing else with their paths.
    case "read":
      return read ?? (isOf(readers) ? path : undefined)
    case "write":
      return write ?? (isOf(writers) ? path : undefined)
    default:
      return inner[key]
  }
}
