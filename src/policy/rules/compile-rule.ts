import type { Json } from "../../contract/json.ts"
import type { AskVia, Matcher, PolicyCall, PolicyRule, RuleVerdict } from "../../contract/policy.ts"
import type { Capability } from "../../contract/tool.ts"
import { type CommandPattern, type CommandWords, compileCommand } from "./command-pattern.ts"
import { compileName, listOf, matchesParts, matchesText } from "./glob.ts"
import { capabilities, type Part } from "./known-tools.ts"
import {
  compilePath,
  isPermitted,
  isRefused,
  type PathPattern,
  type PathSpellings,
  type PathUse,
} from "./path-pattern.ts"
import { parsePointer, valueAt } from "./pointer.ts"
import { compileTool, type NamedCall, namesOf, type ToolPattern } from "./tool-names.ts"
import { compileUrl, type UrlPattern } from "./url-pattern.ts"
import { compileValue, type ValuePattern } from "./value-pattern.ts"

/** A rule in the form that calls are compared with. */
export interface CompiledRule {
  /** For people, for example `rules[2] of longhaul.policy.yaml`. */
  readonly name: string
  readonly verdict: RuleVerdict
  readonly condition: Condition
  readonly except: Condition | undefined
  readonly usesPath: boolean
  readonly reason: string | undefined
  readonly via: AskVia | undefined
  readonly changes: readonly { readonly parts: readonly string[]; readonly value: Json }[]
}

/** The parts of a call that rules compare. */
export interface RuleFacts {
  readonly call: PolicyCall
  readonly urls: readonly Part[]
  /** Empty also if no rule asks for them. */
  readonly paths: readonly UsedPath[]
  readonly command: CommandWords | undefined
  /** False: what is done with the URLs and the command is unknown. */
  readonly isKnown: boolean
}

export function factsOf(call: PolicyCall, more: Partial<RuleFacts> = {}): RuleFacts {
  return { call, paths: [], urls: [], command: undefined, isKnown: true, ...more }
}

export interface UsedPath extends PathSpellings {
  readonly can: PathUse
}

interface Condition {
  /** The condition is only for this use of a path, a command or a URL. */
  readonly can: Capability | undefined
  readonly tools: readonly ToolPattern[]
  readonly commands: readonly CommandPattern[] | undefined
  readonly paths: readonly PathPattern[] | undefined
  readonly urls: readonly UrlPattern[] | undefined
  readonly args: readonly { readonly parts: readonly string[]; readonly pattern: ValuePattern }[]
  readonly agents: readonly ((name: string) => boolean)[] | undefined
  readonly backends: readonly ((name: string) => boolean)[] | undefined
  readonly workspaces: readonly string[] | undefined
  readonly subjects: readonly ((name: string) => boolean)[] | undefined
  readonly sandboxed: boolean | undefined
}

/** The rule must be checked before. */
export async function compileRule(rule: PolicyRule, name: string, paths: PathContext): Promise<CompiledRule> {
  const verdict = verdictOf(rule)
  const matcher: Matcher = rule[verdict] ?? {}
  const condition = await compileMatcher(matcher, paths)
  const except = rule.except && (await compileMatcher({ ...matcher, ...rule.except }, paths))
  return {
    name,
    verdict,
    condition,
    except,
    usesPath: condition.paths !== undefined || except?.paths !== undefined,
    reason: rule.reason,
    via: rule.via,
    changes: Object.entries(rule.set ?? {}).map(([pointer, value]) => ({ parts: parsePointer(pointer) ?? [], value })),
  }
}

export interface PathContext {
  readonly homeFolder: string | undefined
  /** Where an absolute pattern leads if links are resolved. */
  readonly resolvePattern: (pattern: string) => Promise<string>
}

export function verdictOf(rule: PolicyRule): RuleVerdict {
  return rule.deny !== undefined ? "deny" : rule.ask !== undefined ? "ask" : "allow"
}

export function isForTool({ condition, verdict }: CompiledRule, call: NamedCall): boolean {
  return fitsTool(condition, call, verdict === "allow")
}

function fitsTool({ tools }: Condition, call: NamedCall, isPermission: boolean): boolean {
  const names = namesOf(call, isPermission)
  return tools.some((fits) => names.some((name) => fits(name, isPermission)))
}

export function refusesPaths({ verdict, usesPath }: CompiledRule): boolean {
  return verdict !== "allow" && usesPath
}

export function refusesAddresses({ verdict, condition }: CompiledRule): boolean {
  return verdict !== "allow" && condition.urls !== undefined
}

/** True if a refusal of paths could apply to one with this use. */
export function refusesUse(rule: CompiledRule, can: PathUse): boolean {
  const { condition } = rule
  return refusesPaths(rule) && (condition.can === undefined || can === undefined || condition.can === can)
}

/** True if the rule has no condition but the tool. */
export function isUnconditional({ condition, except }: CompiledRule): boolean {
  const { commands, paths, urls, args, agents, backends, workspaces, subjects, sandboxed } = condition
  const others = [except, commands, paths, urls, agents, backends, workspaces, subjects, sandboxed]
  return args.length === 0 && others.every((each) => each === undefined)
}

/**
 * A refusal applies if one path of the call may be meant, a permission only if all of them certainly are. An exception
 * is matched the opposite way.
 */
export function appliesTo(rule: CompiledRule, facts: RuleFacts): boolean {
  const isPermission = rule.verdict === "allow"
  const appliesAt = (path: UsedPath | undefined) =>
    holds(rule.condition, facts, path, isPermission) &&
    !(rule.except !== undefined && holds(rule.except, facts, path, !isPermission))
  if (!rule.usesPath || facts.paths.length === 0) return appliesAt(undefined)
  return isPermission ? facts.paths.every(appliesAt) : facts.paths.some(appliesAt)
}

function holds(condition: Condition, facts: RuleFacts, path: UsedPath | undefined, isPermission: boolean): boolean {
  const { call, command, isKnown } = facts
  const { commands, urls, paths, agents, backends, workspaces, subjects, sandboxed } = condition
  if (!fitsTool(condition, call, isPermission)) return false
  if (condition.can === "read" || condition.can === "write") {
    // An unknown use may be refused, and is never permitted.
    if (path?.can === undefined ? isPermission : path.can !== condition.can) return false
  } else if (condition.can !== undefined && isPermission && !isKnown) return false
  if (sandboxed !== undefined && sandboxed !== call.sandboxed) return false
  if (backends !== undefined && !backends.some((fits) => fits(call.backend))) return false
  if (agents !== undefined && !agents.some((fits) => fits(call.agent ?? "root"))) return false
  if (workspaces !== undefined && !workspaces.some((pattern) => fitsWorkspace(pattern, call.workspace))) return false
  if (subjects !== undefined && !subjects.some((fits) => call.subject !== undefined && fits(call.subject))) return false
  if (commands !== undefined) {
    if (command === undefined) return false
    if (!commands.some((each) => (isPermission ? each.permits(command) : each.refuses(command)))) return false
  }
  if (paths !== undefined) {
    if (path === undefined) return false
    if (!(isPermission ? isPermitted(paths, path) : isRefused(paths, path))) return false
  }
  // A command does more than fetch an address that it names.
  if (urls !== undefined && ((isPermission && command !== undefined) || !fitsUrl(urls, facts.urls, isPermission))) {
    return false
  }
  return condition.args.every(({ parts, pattern }) => {
    const value = valueAt(call.args, parts)
    return value !== undefined && (isPermission ? pattern.permits(value) : pattern.refuses(value))
  })
}

/** A subject is any text: `*` stands for any part of it. */
function compileSubject(pattern: string): (subject: string) => boolean {
  return (subject) => matchesText(pattern, subject)
}

/** A pattern without a slash is for the name of the folder. */
function fitsWorkspace(pattern: string, workspace: string): boolean {
  const parts = workspace.split("/").filter((part) => part !== "")
  if (!pattern.includes("/")) return matchesParts([pattern], parts.slice(-1))
  return matchesParts(
    pattern.split("/").filter((part) => part !== ""),
    parts,
  )
}

function fitsUrl(patterns: readonly UrlPattern[], urls: readonly Part[], isPermission: boolean): boolean {
  if (urls.length === 0) return false
  const fits = (url: Part) =>
    url === undefined
      ? !isPermission
      : patterns.some((pattern) => (isPermission ? pattern.permits(url) : pattern.refuses(url)))
  return isPermission ? urls.every(fits) : urls.some(fits)
}

async function compileMatcher(matcher: Matcher, { homeFolder, resolvePattern }: PathContext): Promise<Condition> {
  const given = <Value>(patterns: Matcher["path"], compile: (pattern: string) => Value) =>
    patterns === undefined ? undefined : listOf(patterns).map(compile)
  const givenPaths = matcher.path ?? matcher.read ?? matcher.write
  const paths: PathPattern[] = []
  for (const pattern of listOf(givenPaths)) {
    paths.push(compilePath(pattern, homeFolder))
    const real = await resolvePattern(pattern)
    if (real !== pattern) paths.push(compilePath(real, homeFolder))
  }
  const args = Object.entries(matcher.args ?? {}).map(async ([pointer, source]) => ({
    parts: parsePointer(pointer) ?? [],
    pattern: await compileValue(source),
  }))
  return {
    can: capabilities.find((each) => matcher[each] !== undefined),
    tools: listOf(matcher.tool ?? "*").map(compileTool),
    commands: given(matcher.command ?? matcher.exec, compileCommand),
    paths: givenPaths === undefined ? undefined : paths,
    urls: given(matcher.url ?? matcher.fetch, compileUrl)?.filter((pattern) => pattern !== undefined),
    args: await Promise.all(args),
    agents: given(matcher.agent, compileName),
    backends: given(matcher.backend, compileName),
    workspaces: matcher.workspace === undefined ? undefined : listOf(matcher.workspace),
    subjects: given(matcher.subject, compileSubject),
    sandboxed: matcher.sandboxed,
  }
}
