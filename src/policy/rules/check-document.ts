import { LonghaulError } from "../../contract/error.ts"
import type { PolicyDocument, PolicyServiceOptions, PolicyTest } from "../../contract/policy.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject, whyNotJson } from "../../lib/json.ts"
import { keys, kindOf } from "../../lib/known-keys.ts"
import { compileLinearPattern } from "../../lib/linear-pattern.ts"
import { findUnreachable } from "./check/unreachable.ts"
import { checkRule, checkTool } from "./check-rule.ts"
import { presets } from "./presets.ts"
import { Problems } from "./problems.ts"

export interface CheckOptions {
  /** Names of the host's own tools. */
  readonly tools?: readonly string[]
  /** A tool that is not known is a problem, even if its name is not close to a known one. */
  readonly onlyKnownTools?: boolean
  /** `extends` may name a file. */
  readonly mayExtendFiles?: boolean
  /** False: patterns that start with `~/` are a problem. */
  readonly hasHomeFolder?: boolean
}

/** Throws `config_invalid` with every problem of the document and its place. */
export async function checkDocument(
  value: unknown,
  source: string,
  options: CheckOptions = {},
): Promise<PolicyDocument> {
  const problems = await problemsIn(value, options)
  if (problems.length > 0) throw invalidDocument(source, problems)
  // Safe: every member was checked.
  return value as PolicyDocument
}

/**
 * The same at once. Of regular expressions only the syntax is checked: their engine is loaded on demand, and finds those that are
 * too large and unknown Unicode classes.
 */
export function checkDocumentSync(value: unknown, source: string, options: CheckOptions = {}): void {
  const { found } = shapeProblems(value, options)
  if (found.length > 0) throw invalidDocument(source, found)
}

/** One problem of a document. `place` is empty for the whole document. */
export interface Problem {
  readonly place: string
  readonly message: string
  readonly fix: string
}

export async function problemsIn(value: unknown, options: CheckOptions = {}): Promise<readonly Problem[]> {
  const problems = shapeProblems(value, options)
  await problems.checkPatterns()
  return problems.found
}

function shapeProblems(value: unknown, options: CheckOptions): Problems {
  const problems = new Problems()
  if (!problems.checkKeys("", value, documentKeys)) return problems
  const { version, extends: base, default: fallback, unparsed, rules, output, tiers, services, tests } = value
  if (version !== undefined && version !== 1) problems.add("version", "is not 1", "Write version: 1.")
  if (base !== undefined) checkExtends(base, options.mayExtendFiles === true, problems)
  if (fallback !== undefined) problems.checkChoice("default", fallback, verdicts)
  if (unparsed !== undefined) problems.checkChoice("unparsed", unparsed, ["ask", "deny", "sandboxed"])
  for (const [place, rule] of problems.items("rules", rules)) checkRule(place, rule, problems, options)
  for (const [place, rule] of problems.items("output", output)) checkOutput(place, rule, problems, options)
  if (tiers !== undefined && problems.checkObject("tiers", tiers)) {
    for (const [tool, risk] of Object.entries(tiers)) {
      const place = `tiers[${JSON.stringify(tool)}]`
      checkTool(place, tool, problems, options)
      problems.checkChoice(place, risk, ["low", "medium", "high"])
    }
  }
  for (const [place, service] of problems.items("services", services)) checkService(place, service, problems)
  for (const [place, test] of problems.items("tests", tests)) checkTest(place, test, problems)
  if (problems.found.length === 0) {
    // Safe: every member was checked.
    const document = value as PolicyDocument
    const preset = typeof base === "string" && Object.hasOwn(presets, base) ? presets[base] : undefined
    for (const { place, message, fix } of findUnreachable(document, preset)) problems.add(place, message, fix)
  }
  return problems
}

function invalidDocument(source: string, problems: readonly Problem[]): LonghaulError {
  const [first] = problems
  const lines = problems.map(({ place, message }) => `${place === "" ? "The document" : place} ${message}.`)
  const isOne = problems.length === 1
  const message = isOne
    ? `${source}: ${lines[0]}`
    : `${source} has ${problems.length} problems:\n${lines.map((line) => `- ${line}`).join("\n")}`
  const fixes = problems.map(({ place, fix }) => `${place}: ${fix}`).join("\n")
  return new LonghaulError("config_invalid", message, {
    fix: isOne ? (first?.fix ?? "") : fixes,
    data: problems.map(({ place, message, fix }) => ({ place, message, fix })),
  })
}

const verdicts = ["allow", "ask", "deny"]

const documentKeys = keys<PolicyDocument>()(
  "version",
  "extends",
  "default",
  "unparsed",
  "rules",
  "output",
  "tiers",
  "services",
  "tests",
)
const serviceKeys = keys<PolicyServiceOptions>()("url", "onOutage")
const testKeys = keys<PolicyTest>()("call", "expect")
const callKeys = keys<PolicyTest["call"]>()("tool", "args", "agent", "backend", "workspace", "cwd")

function checkExtends(base: unknown, mayBeFile: boolean, problems: Problems): void {
  const names = Object.keys(presets)
  if (typeof base === "string" && (names.includes(base) || (mayBeFile && /[./]/.test(base)))) return
  const meant = typeof base === "string" ? closest(base, names) : undefined
  const file = mayBeFile ? ", or the path of a file such as ./base.policy.yaml" : ""
  const fix = meant === undefined ? `Use one of: ${names.join(", ")}${file}.` : `Did you mean ${meant}?`
  problems.add("extends", `is ${typeof base === "string" ? JSON.stringify(base) : kindOf(base)}, not a preset`, fix)
}

function checkOutput(place: string, rule: unknown, problems: Problems, options: CheckOptions): void {
  if (!problems.checkKeys(place, rule, ["block", "reason"])) return
  if (rule.reason !== undefined) problems.checkText(`${place}.reason`, rule.reason)
  if (!problems.checkKeys(`${place}.block`, rule.block, ["tool", "pattern"])) return
  for (const [at, name] of problems.texts(`${place}.block.tool`, rule.block.tool)) {
    checkTool(at, name, problems, options)
  }
  problems.pattern(`${place}.block.pattern`, rule.block.pattern, compileLinearPattern)
}

function checkService(place: string, service: unknown, problems: Problems): void {
  if (!problems.checkKeys(place, service, serviceKeys)) return
  const { url, onOutage } = service
  if (typeof url !== "string" || !URL.canParse(url))
    problems.add(`${place}.url`, "is not a URL", "Write an https:// URL.")
  if (onOutage !== undefined) problems.checkChoice(`${place}.onOutage`, onOutage, ["closed", "open"])
}

function checkTest(place: string, test: unknown, problems: Problems): void {
  if (!problems.checkKeys(place, test, testKeys)) return
  problems.checkChoice(`${place}.expect`, test.expect, verdicts)
  if (!problems.checkKeys(`${place}.call`, test.call, callKeys)) return
  const { args, tool, ...names } = test.call
  problems.checkText(`${place}.call.tool`, tool)
  for (const [name, value] of Object.entries(names)) problems.checkText(`${place}.call.${name}`, value)
  if (args === undefined) return
  const why = isJsonObject(args) ? whyNotJson(args, "args") : `is ${kindOf(args)}, not an object`
  if (why !== undefined) problems.add(`${place}.call.args`, why, "Write the arguments of the call.")
}
