import type { Json } from "../../contract/json.ts"
import type { AskVia, Matcher, PolicyCall, PolicyRule, RuleVerdict } from "../../contract/policy.ts"
import { compileLinearPattern, type LinearPattern } from "../../lib/linear-pattern.ts"
import { type CommandPattern, type CommandWords, compileCommand } from "./command-pattern.ts"
import { compileName, compileTool, listOf, matchesParts } from "./glob.ts"
import { compilePath, isPermitted, isRefused, type PathPattern, type PathSpellings } from "./path-pattern.ts"
import { leavesOf, parsePointer, valueAt } from "./pointer.ts"
import type { Part } from "./tool-shapes.ts"
import { compileUrl, type UrlPattern } from "./url-pattern.ts"

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
export interface CallFacts {
  readonly call: PolicyCall
  readonly urls: readonly Part[]
  /** Empty also if no rule asks for them. */
  readonly paths: readonly PathSpellings[]
  readonly command: CommandWords | undefined
}

interface Condition {
  readonly tools: readonly ((name: string) => boolean)[]
  readonly commands: readonly CommandPattern[] | undefined
  readonly paths: readonly PathPattern[] | undefined
  readonly urls: readonly UrlPattern[] | undefined
  readonly args: readonly { readonly parts: readonly string[]; readonly pattern: LinearPattern }[]
  readonly agents: readonly ((name: string) => boolean)[] | undefined
  readonly backends: readonly ((name: string) => boolean)[] | undefined
  readonly workspaces: readonly string[] | undefined
  readonly sandboxed: boolean | undefined
}

/** The rule must be checked before. */
export async function compileRule(rule: PolicyRule, name: string, paths: PathContext): Promise<CompiledRule> {
  const verdict = verdictOf(rule)
  const matcher: Matcher = rule[verdict] ?? { tool: "*" }
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

export function isForTool({ condition }: CompiledRule, tool: string): boolean {
  return condition.tools.some((fits) => fits(tool))
}

export function refusesPaths({ verdict, usesPath }: CompiledRule): boolean {
  return verdict !== "allow" && usesPath
}

/** True if the rule has no condition but the tool. */
export function isUnconditional({ condition, except }: CompiledRule): boolean {
  const { commands, paths, urls, args, agents, backends, workspaces, sandboxed } = condition
  const others = [except, commands, paths, urls, agents, backends, workspaces, sandboxed]
  return args.length === 0 && others.every((each) => each === undefined)
}

/**
 * A refusal applies if one path of the call may be meant, a permission only if all of them certainly are. An exception
 * is the opposite of its rule.
 */
export function appliesTo(rule: CompiledRule, facts: CallFacts): boolean {
  const isPermission = rule.verdict === "allow"
  const appliesAt = (path: PathSpellings | undefined) =>
    holds(rule.condition, facts, path, isPermission) &&
    !(rule.except !== undefined && holds(rule.except, facts, path, !isPermission))
  if (!rule.usesPath || facts.paths.length === 0) return appliesAt(undefined)
  return isPermission ? facts.paths.every(appliesAt) : facts.paths.some(appliesAt)
}

function holds(
  condition: Condition,
  facts: CallFacts,
  path: PathSpellings | undefined,
  isPermission: boolean,
): boolean {
  const { call, command } = facts
  const { commands, urls, paths, agents, backends, workspaces, sandboxed } = condition
  if (!condition.tools.some((fits) => fits(call.tool))) return false
  if (sandboxed !== undefined && sandboxed !== call.sandboxed) return false
  if (backends !== undefined && !backends.some((fits) => fits(call.backend))) return false
  if (agents !== undefined && !agents.some((fits) => fits(call.agent ?? "root"))) return false
  if (workspaces !== undefined && !workspaces.some((pattern) => fitsWorkspace(pattern, call.workspace))) return false
  if (commands !== undefined) {
    if (command === undefined) return false
    if (!commands.some((each) => (isPermission ? each.permits(command) : each.refuses(command)))) return false
  }
  if (paths !== undefined) {
    if (path === undefined) return false
    if (!(isPermission ? isPermitted(paths, path) : isRefused(paths, path))) return false
  }
  if (urls !== undefined && !fitsUrl(urls, facts.urls, isPermission)) return false
  return condition.args.every(({ parts, pattern }) => fitsValue(pattern, valueAt(call.args, parts), isPermission))
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

/** A refusal looks inside lists and objects, a permission is only for a single value. */
function fitsValue(pattern: LinearPattern, value: Json | undefined, isPermission: boolean): boolean {
  if (value === undefined) return false
  if (isPermission) return (value === null || typeof value !== "object") && pattern.test(String(value))
  return leavesOf(value).some((leaf) => pattern.test(leaf))
}

async function compileMatcher(matcher: Matcher, { homeFolder, resolvePattern }: PathContext): Promise<Condition> {
  const given = <Value>(patterns: Matcher["path"], compile: (pattern: string) => Value) =>
    patterns === undefined ? undefined : listOf(patterns).map(compile)
  const paths: PathPattern[] = []
  for (const pattern of listOf(matcher.path)) {
    paths.push(compilePath(pattern, homeFolder))
    const real = await resolvePattern(pattern)
    if (real !== pattern) paths.push(compilePath(real, homeFolder))
  }
  const args = Object.entries(matcher.args ?? {}).map(async ([pointer, source]) => ({
    parts: parsePointer(pointer) ?? [],
    pattern: await compileLinearPattern(`\\A(?:${source})\\z`),
  }))
  return {
    tools: listOf(matcher.tool).map(compileTool),
    commands: given(matcher.command, compileCommand),
    paths: matcher.path === undefined ? undefined : paths,
    urls: given(matcher.url, compileUrl)?.filter((pattern) => pattern !== undefined),
    args: await Promise.all(args),
    agents: given(matcher.agent, compileName),
    backends: given(matcher.backend, compileName),
    workspaces: matcher.workspace === undefined ? undefined : listOf(matcher.workspace),
    sandboxed: matcher.sandboxed,
  }
}
