import type { PolicyCall } from "../../contract/policy.ts"
import { factsOf, type RuleFacts, refusesUse } from "./compile-rule.ts"
import { lineSteps } from "./decide-line.ts"
import { type CallUses, type Part, usesOf } from "./known-tools.ts"
import { absolutePath, type PathUse } from "./path-pattern.ts"
import type { ToolRules } from "./rule-index.ts"
import { askWhereRefused, atLeastAsk, type DecisionContext, type Step, stepFor } from "./step.ts"

/** Decides every use of a call on its own: each command of a line, what it reads, writes and fetches. The strictest step decides. */
export async function stepsOf(call: PolicyCall, context: DecisionContext): Promise<readonly Step[]> {
  const rules = context.rulesOf(call)
  const uses = await usesOf(call)
  const { exec = [], read = [], write = [], fetch = [], paths, isKnown, folders = [call.cwd] } = uses
  const steps: Step[] = []
  // The argument `command` of an unknown tool may be anything, unless a rule says what it is.
  for (const line of isKnown || rules.usesCommand ? exec : []) {
    for (const folder of folders) steps.push(...(await stepsIn(call, folder, line, isKnown, rules, context)))
  }
  if (read.length > 0) steps.push(await pathStep(call, read, "read", rules, context))
  if (write.length > 0) steps.push(await pathStep(call, write, "write", rules, context))
  if (isKnown && fetch.length > 0) steps.push(stepFor(call.tool, rules.all, factsOf(call, { urls: fetch }), context))
  if (!isKnown && (steps.length === 0 || paths.length + fetch.length > 0)) {
    steps.push(await unknownStep(call, uses, rules, context))
  }
  return steps.length > 0 ? steps : [stepFor(call.tool, rules.all, factsOf(call), context)]
}

/** Decides a line where it runs. */
async function stepsIn(
  call: PolicyCall,
  folder: Part,
  line: Part,
  isKnown: boolean,
  rules: ToolRules,
  context: DecisionContext,
): Promise<readonly Step[]> {
  const placed = { ...call, cwd: absolutePath(call.cwd, folder ?? ".") }
  const steps = await lineSteps(placed, folder === undefined ? undefined : line, isKnown, rules, context)
  const refusing = rules.all.filter((rule) => refusesUse(rule, "read"))
  if (placed.cwd === call.workspace || refusing.length === 0) return steps
  const { paths } = await context.findPaths([placed.cwd], call)
  const used = paths.map((path) => ({ ...path, can: "read" as const }))
  const inFolder = stepFor(`the folder ${placed.cwd}`, refusing, factsOf(call, { paths: used }), { default: undefined })
  return inFolder.verdict === undefined ? steps : [...steps, inFolder]
}

async function pathStep(
  call: PolicyCall,
  given: readonly Part[],
  can: PathUse,
  rules: ToolRules,
  context: DecisionContext,
  more: Partial<RuleFacts> = {},
): Promise<Step> {
  const { paths, isUnresolved } = rules.usesPath ? await context.findPaths(given, call) : noPaths
  const used = paths.map((path) => ({ ...path, can }))
  const step = stepFor(call.tool, rules.all, factsOf(call, { paths: used, ...more }), context)
  const ask = rules.all.some((rule) => refusesUse(rule, can)) ? askWhereRefused : atLeastAsk
  return isUnresolved ? ask(step, "A path of the call cannot be resolved.") : step
}

const noPaths = { paths: [], isUnresolved: false }

/** Any refusal of what its arguments name applies, whatever the call does with it. */
async function unknownStep(
  call: PolicyCall,
  { paths, fetch = [] }: CallUses,
  rules: ToolRules,
  context: DecisionContext,
): Promise<Step> {
  const step = await pathStep(call, paths, undefined, rules, context, { urls: fetch, isKnown: false })
  if (!context.refusesPaths || !linkNames.test(call.tool)) return step
  return askWhereRefused(step, "It may make a link to a path that a rule refuses.")
}

/** Tools of unknown use whose names say that they make links. */
const linkNames =
  /(sym|hard|symbolic)[-_ ]?link|(^|[^a-z])link(s|ed)?$|(create|make|add)[-_]?link|(^|[^a-z])(ln|mklink)$|link[-_]?(file|folder|dir|path)|junction/i
