import { LonghaulError } from "../../contract/error.ts"
import type { Matcher, PolicyDocument, PolicyRule, RuleVerdict } from "../../contract/policy.ts"
import { canonicalJson, isJsonObject } from "../../lib/json.ts"
import { kindOf } from "../../lib/known-keys.ts"
import { problemsIn } from "./check-document.ts"
import { verdictOf } from "./compile-rule.ts"
import { listOf } from "./glob.ts"
import { readers, writers } from "./known-tools.ts"
import { governing } from "./presets.ts"
import { translateRule } from "./translate-rule.ts"

/** A policy made from the settings of Claude Code, and everything that it does not contain. */
export interface ImportedSettings {
  readonly document: PolicyDocument
  /** Number of permission rules that were translated, of all. */
  readonly translated: number
  readonly total: number
  /** Settings that were left out or changed, each with the reason. */
  readonly notes: readonly { readonly setting: string; readonly note: string }[]
}

/**
 * Translates permission rules. A permission may only become narrower and a refusal only wider; a rule that cannot be
 * translated is reported.
 */
export async function importClaudeSettings(settings: unknown): Promise<ImportedSettings> {
  if (!isJsonObject(settings)) throw notSettings(`The settings are ${kindOf(settings)}, not an object.`)
  const { permissions = {} } = settings
  if (!isJsonObject(permissions)) throw notSettings(`permissions is ${kindOf(permissions)}, not an object.`)
  const notes: { setting: string; note: string }[] = []
  const found: NamedRule[] = []
  const lost: LostRefusal[] = []
  let total = 0
  for (const verdict of ["deny", "ask", "allow"] as const) {
    const given = permissions[verdict] ?? []
    if (!Array.isArray(given)) throw notSettings(`permissions.${verdict} is ${kindOf(given)}, not a list.`)
    for (const text of given) {
      total++
      const setting = `${verdict}: ${typeof text === "string" ? text : kindOf(text)}`
      const result = typeof text === "string" ? translateRule(text, verdict) : { note: "It is not a string." }
      if ("matcher" in result) found.push({ setting, rule: { [verdict]: result.matcher } })
      else if (verdict !== "allow" && "tool" in result) lost.push({ setting, tool: result.tool ?? [] })
      if (result.note !== undefined) notes.push({ setting, note: result.note })
    }
  }
  const mode = modeOf(permissions.defaultMode, notes)
  for (const key of Object.keys(permissions)) {
    if (!["allow", "ask", "deny", "defaultMode"].includes(key))
      notes.push({ setting: `permissions.${key}`, note: leftOut })
  }
  for (const key of Object.keys(settings)) {
    if (key !== "permissions" && key !== "$schema") notes.push({ setting: key, note: leftOut })
  }
  const valid = await withoutInvalid([...mode.rules, ...found], mode.default, notes, lost)
  const narrowed = withoutExposed(valid, lost, notes)
  const reachable = await withoutUnreachable(narrowed, mode.default, notes)
  const translated = reachable.filter((each) => found.includes(each)).length
  const rules = grouped(reachable.map(({ rule }) => rule))
  return { document: { version: 1, default: mode.default, rules }, translated, total, notes }
}

const leftOut = "It is not a permission rule and was left out."

interface NamedRule {
  readonly setting: string
  readonly rule: PolicyRule
}

/** A refusal that could not be translated, and the tools that it is about. */
interface LostRefusal {
  readonly setting: string
  readonly tool: readonly string[]
}

/** A rule that is not a valid pattern here is omitted. */
async function withoutInvalid(
  given: readonly NamedRule[],
  fallback: RuleVerdict,
  notes: { setting: string; note: string }[],
  lost: LostRefusal[],
): Promise<readonly NamedRule[]> {
  const valid: NamedRule[] = []
  for (const each of given) {
    const { setting, rule } = each
    const [problem] = await problemsIn({ version: 1, default: fallback, rules: [rule] })
    if (problem === undefined) valid.push(each)
    else {
      notes.push({ setting, note: `The rule ${problem.message}.` })
      const verdict = verdictOf(rule)
      if (verdict !== "allow") lost.push({ setting, tool: toolsOf(rule[verdict] ?? {}) })
    }
  }
  return valid
}

function toolsOf({ tool, read, write }: Matcher): readonly string[] {
  return tool === undefined ? [...(read ? readers : []), ...(write ? writers : [])] : listOf(tool)
}

/** A permission is left out if a refusal for the same tools is lost: it would allow what was refused. */
function withoutExposed(
  given: readonly NamedRule[],
  lost: readonly LostRefusal[],
  notes: { setting: string; note: string }[],
): readonly NamedRule[] {
  return given.filter(({ setting, rule: { allow } }) => {
    const refusal = lost.find(({ tool }) => listOf(allow?.tool).some((each) => tool.includes(each)))
    if (refusal !== undefined)
      notes.push({ setting, note: `It would allow what "${refusal.setting}" refuses, which is not translated.` })
    return refusal === undefined
  })
}

function modeOf(mode: unknown, notes: { setting: string; note: string }[]) {
  const setting = `defaultMode: ${String(mode)}`
  const none: readonly NamedRule[] = []
  switch (mode) {
    case undefined:
    case "default":
      return { default: "ask", rules: none } as const
    case "acceptEdits":
      return {
        default: "ask",
        // Claude Code asks about these in this mode as well.
        rules: [{ setting, rule: { allow: { tool: writers, path: "**" }, except: { path: governing } } }],
      } as const
    case "plan":
      return { default: "deny", rules: [{ setting, rule: { deny: { tool: writers } } }] } as const
    case "dontAsk":
      return { default: "deny", rules: none } as const
    default:
      notes.push({ setting, note: "It is not translated: calls that no rule allows are asked about." })
      return { default: "ask", rules: none } as const
  }
}

/** The strictest rule decides in both, so such a rule never had an effect. */
async function withoutUnreachable(
  given: readonly NamedRule[],
  fallback: RuleVerdict,
  notes: { setting: string; note: string }[],
): Promise<readonly NamedRule[]> {
  const rules = given.map(({ rule }) => rule)
  const problems = await problemsIn({ version: 1, default: fallback, rules })
  const places = new Map(problems.map(({ place, message }) => [place.replace(/\].*$/, "]"), message]))
  return given.filter(({ setting }, index) => {
    const message = places.get(`rules[${index}]`)
    if (message !== undefined)
      notes.push({ setting, note: `The rule ${message.replace(/rules\[\d+\] /, "a stricter rule ")}.` })
    return message === undefined
  })
}

/** Rules that differ in one list of patterns become one. */
function grouped(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const groups = new Map<string, PolicyRule>()
  for (const rule of rules) {
    const verdict = verdictOf(rule)
    const given: Matcher = rule[verdict] ?? {}
    const part = patternKeys.find((each) => given[each] !== undefined)
    // Rules without a pattern differ in their tools.
    const key = canonicalJson([verdict, part ?? "tool", ...(part === undefined ? [] : [listOf(given.tool)])])
    if (rule.except !== undefined) {
      groups.set(canonicalJson([key, groups.size]), rule)
      continue
    }
    const merged = part ?? "tool"
    const before = groups.get(key)?.[verdict]
    const patterns = [...listOf(before?.[merged]), ...listOf(given[merged])]
    const matcher: Matcher = { ...given, ...before, [merged]: [...new Set(patterns)] }
    groups.set(key, { [verdict]: matcher })
  }
  return [...groups.values()]
}

const patternKeys = ["command", "read", "write", "path", "url"] as const

function notSettings(message: string): LonghaulError {
  return new LonghaulError("config_invalid", message, { fix: "Pass a settings file that has permissions." })
}
