import type { Matcher, PolicyRule } from "../../contract/policy.ts"
import { closest } from "../../lib/closest.ts"
import { whyNotJson } from "../../lib/json.ts"
import { keys, kindOf } from "../../lib/known-keys.ts"
import { compileLinearPattern, PatternError } from "../../lib/linear-pattern.ts"
import { compileTool } from "./glob.ts"
import { parsePointer } from "./pointer.ts"
import type { Problems } from "./problems.ts"
import { builtInTools, hasPart } from "./tool-shapes.ts"
import { compileUrl } from "./url-pattern.ts"

export interface RuleCheckOptions {
  readonly tools?: readonly string[]
  readonly onlyKnownTools?: boolean
  readonly hasHomeFolder?: boolean
}

/** Adds the problems of one rule. */
export async function checkRule(
  place: string,
  rule: unknown,
  problems: Problems,
  options: RuleCheckOptions,
): Promise<void> {
  if (!problems.checkKeys(place, rule, ruleKeys)) return
  const given = verdicts.filter((verdict) => rule[verdict] !== undefined)
  const [verdict] = given
  if (verdict === undefined || given.length > 1) {
    const has = verdict === undefined ? "none" : given.join(" and ")
    problems.add(place, `has ${has} of allow, ask and deny`, "Write exactly one of them.")
    return
  }
  const tools = await checkMatcher(`${place}.${verdict}`, rule[verdict], problems, options)
  if (tools !== undefined) checkToolParts(`${place}.${verdict}`, verdict, rule[verdict], tools, problems)
  const { except, reason, via, set } = rule
  if (except !== undefined) await checkMatcher(`${place}.except`, except, problems, { ...options, isPartial: true })
  if (reason !== undefined) problems.checkText(`${place}.reason`, reason)
  if (via !== undefined) problems.checkChoice(`${place}.via`, via, ["wait", "pause"])
  if (via !== undefined && verdict !== "ask") problems.add(`${place}.via`, "is only for ask", "Omit it.")
  if (set === undefined) return
  if (verdict === "deny") problems.add(`${place}.set`, "is not for deny", "Omit it, or write allow or ask.")
  if (!problems.checkObject(`${place}.set`, set)) return
  for (const [pointer, value] of Object.entries(set)) {
    checkPointer(`${place}.set`, pointer, problems)
    const why = whyNotJson(value, pointer)
    if (why !== undefined) problems.add(`${place}.set`, why, "Write a JSON value.")
  }
}

const verdicts = ["allow", "ask", "deny"] as const
const ruleKeys = keys<PolicyRule>()("allow", "ask", "deny", "except", "reason", "via", "set")
const matcherKeys = keys<Matcher>()(
  "tool",
  "command",
  "path",
  "url",
  "args",
  "agent",
  "backend",
  "workspace",
  "sandboxed",
)

/** Returns the tool patterns; undefined if the matcher is no object. */
async function checkMatcher(
  place: string,
  matcher: unknown,
  problems: Problems,
  options: RuleCheckOptions & { readonly isPartial?: boolean },
): Promise<readonly string[] | undefined> {
  if (!problems.checkKeys(place, matcher, matcherKeys)) return undefined
  const { tool, command, path, url, args, agent, backend, workspace, sandboxed } = matcher
  if (options.isPartial && Object.keys(matcher).length === 0) {
    problems.add(place, "is empty, so the rule would never apply", "Name what is excepted.")
  }
  const patternsOf = (name: string, value: unknown) =>
    value === undefined ? [] : problems.texts(`${place}.${name}`, value)
  const tools = tool === undefined && options.isPartial ? [] : problems.texts(`${place}.tool`, tool)
  for (const [at, name] of tools) checkTool(at, name, problems, options)
  patternsOf("command", command)
  for (const [at, pattern] of patternsOf("path", path)) checkPath(at, pattern, problems, options)
  for (const [at, pattern] of patternsOf("url", url)) {
    if (compileUrl(pattern) === undefined) problems.add(at, "is not a URL pattern", urlAdvice)
  }
  for (const [name, value] of Object.entries({ agent, backend, workspace })) patternsOf(name, value)
  if (sandboxed !== undefined && typeof sandboxed !== "boolean") {
    problems.add(`${place}.sandboxed`, `is ${kindOf(sandboxed)}`, "Write true or false.")
  }
  if (args !== undefined && problems.checkObject(`${place}.args`, args)) {
    if (Object.keys(args).length === 0) problems.add(`${place}.args`, "is empty", "Omit it, or add a JSON pointer.")
    for (const [pointer, pattern] of Object.entries(args)) {
      checkPointer(`${place}.args`, pointer, problems)
      await checkValuePattern(`${place}.args[${JSON.stringify(pointer)}]`, pattern, problems)
    }
  }
  return tools.map(([, name]) => name)
}

const urlAdvice = "Write scheme, host and path without a query, for example https://*.example.com/docs/**."

function checkTool(place: string, name: string, problems: Problems, options: RuleCheckOptions): void {
  if (name.startsWith("mcp:")) {
    if (!name.includes("/")) problems.add(place, `is ${JSON.stringify(name)}, without a tool`, `Write "${name}/*".`)
    return
  }
  const { tools = [] } = options
  if (name.includes("*") || builtInTools.includes(name) || tools.includes(name)) return
  // "Fetch" is a name that tools of hosts have, and no abbreviation of FetchData.
  const candidates = builtInTools.filter((tool) => tool !== "FetchData")
  const meant = closest(name, [...candidates, ...tools])
  if (meant === undefined && options.onlyKnownTools !== true) return
  const fix =
    meant === undefined ? "Use the name of a tool; state your own tools, or add a star." : `Did you mean ${meant}?`
  problems.add(place, `names an unknown tool ${JSON.stringify(name.slice(0, 80))}`, fix)
}

/** Parts that no call of the tools has: such a rule would never apply. */
function checkToolParts(
  place: string,
  verdict: string,
  matcher: unknown,
  tools: readonly string[],
  problems: Problems,
): void {
  // Safe: it was checked to be an object.
  const given = matcher as Partial<Matcher>
  for (const part of ["command", "path", "url"] as const) {
    if (given[part] === undefined) continue
    const without = tools.find((tool) => !tool.includes("*") && !hasPart(tool, part))
    if (without !== undefined) {
      const having = builtInTools.filter((tool) => hasPart(tool, part)).join(", ")
      problems.add(
        `${place}.${part}`,
        `does not apply to ${without}`,
        `Of the built-in tools, ${part} is for: ${having}.`,
      )
    }
  }
  if (
    verdict === "allow" &&
    given.args?.["/command"] !== undefined &&
    tools.some((tool) => compileTool(tool)("Bash"))
  ) {
    // The whole line would be compared: one command could let others pass.
    problems.add(`${place}.args`, "cannot allow commands by /command", "Allow each command by `command`.")
  }
  if (verdict === "allow" && given.path !== undefined && tools.some((tool) => tool === "Bash")) {
    const fix = "Allow commands by `command`; a command may use other paths than those it names."
    problems.add(`${place}.path`, "cannot allow commands", fix)
  }
}

function checkPath(place: string, pattern: string, problems: Problems, { hasHomeFolder }: RuleCheckOptions): void {
  if (/(^|\/)\.\.(\/|$)/.test(pattern)) {
    problems.add(place, "contains a parent folder (..)", "Start at the workspace, at / or at ~/.")
  } else if (/\{[^}]*,[^}]*\}/.test(pattern)) {
    problems.add(place, "contains braces, which are not special here", "Write a list of patterns.")
  } else if (pattern.startsWith("!")) {
    problems.add(place, "starts with !, which is not special here", "Use except.")
  } else if (pattern.startsWith("~") && !pattern.startsWith("~/")) {
    problems.add(place, "names the home folder of another user", "Write an absolute path.")
  } else if (pattern.startsWith("~/") && hasHomeFolder === false) {
    problems.add(place, "starts with ~/, but there is no home folder here", "Write an absolute path.")
  } else if (pattern.includes("\\") || pattern.includes("\0")) {
    problems.add(place, "contains a backslash or NUL character", "Separate folders with /.")
  }
}

function checkPointer(place: string, pointer: string, problems: Problems): void {
  if (parsePointer(pointer) !== undefined) return
  problems.add(place, `has the key ${JSON.stringify(pointer.slice(0, 80))}, which is not a JSON pointer`, pointerAdvice)
}

const pointerAdvice = "Write a path to an argument, for example /to or /options/0."

/** It is compiled as it will be used: an open quotation or group must not reach beyond it. */
async function checkValuePattern(place: string, pattern: unknown, problems: Problems): Promise<void> {
  if (!problems.checkText(place, pattern)) return
  try {
    await compileLinearPattern(pattern)
    await compileLinearPattern(`\\A(?:${pattern})\\z`)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    problems.add(place, error.message, "Write a regular expression in RE2 syntax.")
  }
}
