import type { Matcher, PolicyRule } from "../../contract/policy.ts"
import type { Capability } from "../../contract/tool.ts"
import { closest } from "../../lib/closest.ts"
import { whyNotJson } from "../../lib/json.ts"
import { keys, kindOf } from "../../lib/known-keys.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { allCapabilities, builtInTools, capabilities } from "./known-tools.ts"
import { parsePointer } from "./pointer.ts"
import type { Problems } from "./problems.ts"
import { compileTool } from "./tool-names.ts"
import { compileUrl } from "./url-pattern.ts"
import { compileValue } from "./value-pattern.ts"

export interface RuleCheckOptions {
  readonly tools?: readonly string[]
  readonly onlyKnownTools?: boolean
  readonly hasHomeFolder?: boolean
}

/** Adds the problems of one rule. */
export function checkRule(place: string, rule: unknown, problems: Problems, options: RuleCheckOptions): void {
  if (!problems.checkKeys(place, rule, ruleKeys)) return
  const given = verdicts.filter((verdict) => rule[verdict] !== undefined)
  const [verdict] = given
  if (verdict === undefined || given.length > 1) {
    const has = verdict === undefined ? "none" : given.join(" and ")
    problems.add(place, `has ${has} of allow, ask and deny`, "Write exactly one of them.")
    return
  }
  const tools = checkMatcher(`${place}.${verdict}`, rule[verdict], problems, options)
  if (tools !== undefined) checkToolParts(`${place}.${verdict}`, verdict, rule[verdict], tools, problems)
  const { except, reason, via, set } = rule
  if (except !== undefined) {
    checkMatcher(`${place}.except`, except, problems, { ...options, isPartial: true })
    checkWords(`${place}.except`, { ...objectOf(rule[verdict]), ...objectOf(except) }, problems)
  }
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
  "read",
  "write",
  "exec",
  "fetch",
  "command",
  "path",
  "url",
  "args",
  "agent",
  "backend",
  "workspace",
  "subject",
  "sandboxed",
)

/** Returns the tool patterns; undefined if the matcher is not an object. */
function checkMatcher(
  place: string,
  matcher: unknown,
  problems: Problems,
  options: RuleCheckOptions & { readonly isPartial?: boolean },
): readonly string[] | undefined {
  if (!problems.checkKeys(place, matcher, matcherKeys)) return undefined
  const { tool, args, agent, backend, workspace, subject, sandboxed } = matcher
  if (options.isPartial && Object.keys(matcher).length === 0) {
    problems.add(place, "is empty, so the rule would never apply", "Name what is excepted.")
  }
  const patternsOf = (name: string, value: unknown) =>
    value === undefined ? [] : problems.texts(`${place}.${name}`, value)
  const standsAlone = options.isPartial || words.some((word) => matcher[word] !== undefined)
  const tools = tool === undefined && standsAlone ? [] : problems.texts(`${place}.tool`, tool)
  for (const [at, name] of tools) checkTool(at, name, problems, options)
  for (const name of ["command", "exec"]) patternsOf(name, matcher[name])
  for (const name of ["path", "read", "write"]) {
    for (const [at, pattern] of patternsOf(name, matcher[name])) checkPath(at, pattern, problems, options)
  }
  for (const name of ["url", "fetch"]) {
    for (const [at, pattern] of patternsOf(name, matcher[name])) {
      if (compileUrl(pattern) === undefined) problems.add(at, "is not a URL pattern", urlAdvice)
    }
  }
  checkWords(place, matcher, problems)
  for (const [name, value] of Object.entries({ agent, backend, workspace, subject })) patternsOf(name, value)
  if (sandboxed !== undefined && typeof sandboxed !== "boolean") {
    problems.add(`${place}.sandboxed`, `is ${kindOf(sandboxed)}`, "Write true or false.")
  }
  if (args !== undefined && problems.checkObject(`${place}.args`, args)) {
    if (Object.keys(args).length === 0) problems.add(`${place}.args`, "is empty", "Omit it, or add a JSON pointer.")
    for (const [pointer, pattern] of Object.entries(args)) {
      checkPointer(`${place}.args`, pointer, problems)
      // An open quotation or group must not reach beyond the pattern.
      problems.pattern(`${place}.args[${JSON.stringify(pointer)}]`, pattern, async (source) => {
        await compileLinearPattern(source)
        await compileValue(source)
      })
    }
  }
  return tools.map(([, name]) => name)
}

/** The keys that say what a rule is about, so that it needs no tool. */
const words = [...capabilities, "path"] as const

/** Two of these would have to hold for the same path, command or URL. */
function checkWords(place: string, matcher: Readonly<Record<string, unknown>>, problems: Problems): void {
  for (const group of [words, ["exec", "command"], ["fetch", "url"]]) {
    const given = group.filter((word) => matcher[word] !== undefined)
    if (given.length < 2) continue
    problems.add(place, `has ${given.join(" and ")}`, "Write a rule for each, and the same word in its exception.")
    return
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  // Safe: an object of unknown members.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

const urlAdvice = "Write scheme, host and path without a query, for example https://*.example.com/docs/**."

/** Adds the problem of a name that no tool has. */
export function checkTool(place: string, name: string, problems: Problems, options: RuleCheckOptions): void {
  if (name.startsWith("mcp:")) {
    if (!name.includes("/")) problems.add(place, `is ${JSON.stringify(name)}, without a tool`, `Write "${name}/*".`)
    return
  }
  const { tools = [] } = options
  if (name.includes("*") || name.startsWith("mcp__") || builtInTools.includes(name) || tools.includes(name)) return
  const meant = meantTool(name, tools)
  if (meant === undefined && options.onlyKnownTools !== true) return
  const fix =
    meant === undefined ? "Use the name of a tool; state your own tools, or add a star." : `Did you mean ${meant}?`
  problems.add(place, `names an unknown tool ${JSON.stringify(name.slice(0, 80))}`, fix)
}

/** The tool that was probably meant by a name that none has; undefined if none is close. */
export function meantTool(name: string, tools: readonly string[]): string | undefined {
  // "Fetch" is a name that tools of hosts have, and no abbreviation of FetchData.
  const candidates = builtInTools.filter((tool) => tool !== "FetchData")
  return closest(name, [...candidates, ...tools])
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
  const known = allCapabilities
  for (const [part, needed] of Object.entries(partsOf)) {
    // Safe: a key of the matcher.
    if (given[part as keyof Matcher] === undefined) continue
    const has = (tool: string) => known.get(tool)?.some((each) => needed.includes(each)) !== false
    const without = tools.find((tool) => !tool.includes("*") && !has(tool))
    if (without !== undefined) {
      const having = builtInTools.filter(has).join(", ")
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
    (tools.length === 0 || tools.some((tool) => compileTool(tool)("Bash")))
  ) {
    // The whole line would be compared: one command could let others pass.
    problems.add(`${place}.args`, "cannot allow commands by /command", "Allow each command by `exec`.")
  }
  const pathWord = (["path", "read", "write"] as const).find((word) => given[word] !== undefined)
  if (verdict === "allow" && pathWord !== undefined && tools.some((tool) => tool === "Bash")) {
    const fix = "Allow commands by `exec`; a command may use other paths than those it names."
    problems.add(`${place}.${pathWord}`, "cannot allow commands", fix)
  }
}

/** The capabilities that a tool needs for a key to apply to it. The words of a command may be paths. */
const partsOf: Readonly<Record<string, readonly Capability[]>> = {
  read: ["read", "exec"],
  write: ["write", "exec"],
  path: ["read", "write", "exec"],
  exec: ["exec"],
  command: ["exec"],
  fetch: ["fetch"],
  url: ["fetch"],
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
