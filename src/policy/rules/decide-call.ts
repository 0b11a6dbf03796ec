import type { AskVia, DecisionReason, PolicyCall, RuleVerdict } from "../../contract/policy.ts"
import type { CommandLine, Redirect, ShellCommand } from "../shell/command-line.ts"
import { pathsOfCommand } from "./command-paths.ts"
import { wordsOf } from "./command-pattern.ts"
import { appliesTo, type CallFacts, type CompiledRule, refusesPaths } from "./compile-rule.ts"
import type { FindPaths } from "./find-paths.ts"
import type { ToolRules } from "./rule-index.ts"
import { commandIn, pathsIn, urlsIn } from "./tool-shapes.ts"

/** The decision about one part of a call: the whole call, one command of a line, or one redirect. */
export interface Step {
  /** The part, for people. */
  readonly subject: string
  /** Absent: no rule applies, and there is no default. */
  readonly verdict: RuleVerdict | undefined
  readonly via: AskVia | undefined
  /** The deciding one first. */
  readonly reasons: readonly DecisionReason[]
  readonly rules: readonly CompiledRule[]
}

/** The settings of a policy that decide calls. */
export interface DecisionContext {
  readonly rulesOf: (tool: string) => ToolRules
  readonly default: RuleVerdict | undefined
  /** Absent: not set. */
  readonly unparsed: "ask" | "deny" | "sandboxed" | undefined
  readonly findPaths: FindPaths
  readonly readLine: (line: string) => Promise<CommandLine>
}

/** Decides every part of a call on its own. The strictest step decides the call. */
export async function stepsOf(call: PolicyCall, context: DecisionContext): Promise<readonly Step[]> {
  const rules = context.rulesOf(call.tool)
  const line = call.tool === "Bash" || rules.usesCommand ? commandIn(call.args) : undefined
  if (line !== undefined) return lineSteps(call, line, rules, context)
  return [await wholeStep(call, rules, context)]
}

/** From the most permissive. Without a verdict the risk tier decides, which may ask. */
export function strictness(verdict: RuleVerdict | undefined): number {
  return verdict === undefined ? 1 : { allow: 0, ask: 2, deny: 3 }[verdict]
}

async function wholeStep(call: PolicyCall, rules: ToolRules, context: DecisionContext): Promise<Step> {
  const { paths, isUnresolved } = rules.usesPath
    ? await context.findPaths(await pathsIn(call.tool, call.args), call)
    : noPaths
  const step = stepFor(call.tool, rules.all, { call, paths, urls: urlsIn(call.args), command: undefined }, context)
  return isUnresolved ? atLeastAsk(step, "A path of the call cannot be resolved.") : step
}

const noNames = { named: [], isKnown: true }
const noPaths = { paths: [], isUnresolved: false }

async function lineSteps(
  call: PolicyCall,
  text: string | null,
  rules: ToolRules,
  context: DecisionContext,
): Promise<readonly Step[]> {
  if (!concernsLines(rules, context)) return [await wholeStep(call, rules, context)]
  const line: CommandLine =
    text === null ? { isReadable: false, reason: "the command is not a text" } : await context.readLine(text)
  if (!line.isReadable) return [unreadableStep(call, line.reason, rules, context)]
  const steps: Step[] = []
  for (const command of line.commands) steps.push(await commandStep(call, command, line, rules, context))
  for (const redirect of line.redirects) {
    const step = await redirectStep(call, redirect, line.changesFolder, context)
    if (step !== undefined) steps.push(step)
  }
  return steps.length > 0 ? steps : [stepFor(call.tool, rules.all, factsOf(call), context)]
}

/** If the policy says nothing about commands, their tool's risk tier decides, whatever the line is. */
function concernsLines(rules: ToolRules, { default: fallback, unparsed, rulesOf }: DecisionContext): boolean {
  if (rules.all.length > 0 || fallback !== undefined || unparsed !== undefined) return true
  return rulesOf("Write").all.length > 0 || rulesOf("Read").all.length > 0
}

async function commandStep(
  call: PolicyCall,
  command: ShellCommand,
  { redirects, changesFolder }: CommandLine & { isReadable: true },
  rules: ToolRules,
  context: DecisionContext,
): Promise<Step> {
  const words = wordsOf(command)
  const { named, isKnown } = rules.usesPath ? pathsOfCommand(command, redirects, changesFolder) : noNames
  const { paths } = named.length === 0 ? noPaths : await context.findPaths(named, call)
  const step = stepFor(shown(command), rules.forCommand(words), { call, paths, urls: [], command: words }, context)
  if (isContained(call, context)) return step
  const [variable] = command.variables
  if (variable !== undefined) return atLeastAsk(step, `${variable} can change what the command does.`)
  if (isKnown || !rules.forCommand(words).some(refusesPaths)) return step
  // No tier may pass a path that a rule might refuse.
  return atLeastAsk(
    { ...step, verdict: step.verdict ?? "allow" },
    "A word of the command is computed: it may be a path.",
  )
}

/** Undefined if it writes nowhere. */
async function redirectStep(
  call: PolicyCall,
  { access, target }: Redirect,
  changesFolder: boolean,
  context: DecisionContext,
): Promise<Step | undefined> {
  if (target.isFixed && target.text === "/dev/null") return undefined
  const tool = access === "write" ? "Write" : "Read"
  const subject = `${tool} ${clipped(target.text)}`
  const rules = context.rulesOf(tool)
  const made: PolicyCall = { ...call, tool, args: { path: target.text } }
  const isFree = isContained(call, context)
  const own = isFree ? { ...context, default: "allow" as const } : context
  // The kernel resolves `link/..` differently from the file tools.
  const isComputed =
    !target.isFixed || (changesFolder && !target.text.startsWith("/")) || /[^./][^/]*\/+\.\.(\/|$)/.test(target.text)
  if (isComputed) {
    const step = stepFor(subject, rules.all, factsOf(made), own)
    return isFree ? step : atLeastAsk(step, "The target of a redirect is computed.")
  }
  const { paths, isUnresolved } = rules.usesPath ? await context.findPaths([target.text], call) : noPaths
  const step = stepFor(subject, rules.all, { ...factsOf(made), paths }, own)
  return isUnresolved ? atLeastAsk(step, "The target of a redirect cannot be resolved.") : step
}

/** Where even unreadable lines are allowed, a sandbox limits what a readable one can do. */
function isContained({ sandboxed }: PolicyCall, { unparsed }: DecisionContext): boolean {
  return sandboxed && unparsed === "sandboxed"
}

/** A line that cannot be read is never allowed by a rule. */
function unreadableStep(call: PolicyCall, reason: string, rules: ToolRules, context: DecisionContext): Step {
  const { unparsed = context.default === "deny" ? "deny" : "ask" } = context
  const facts = factsOf(call)
  const refusing = rules.all.filter((rule) => rule.verdict !== "allow" && appliesTo(rule, facts))
  const own = unparsed === "sandboxed" ? (call.sandboxed ? "allow" : "ask") : unparsed
  const text = `The command line cannot be read: ${reason}. Such lines are "${unparsed}" in this policy.`
  const isConcerned = rules.all.length > 0 || context.default !== undefined || context.unparsed !== undefined
  const step = stepFor("an unreadable command line", refusing, facts, { ...context, default: undefined })
  if (!isConcerned) return step
  const given: Step = { ...step, verdict: own, reasons: [{ stage: "rule", verdict: own, text }], rules: [] }
  if (step.verdict === undefined || strictness(own) > strictness(step.verdict)) {
    return { ...given, reasons: [...given.reasons, ...step.reasons] }
  }
  return { ...step, reasons: [...step.reasons, ...given.reasons] }
}

function stepFor(
  subject: string,
  candidates: readonly CompiledRule[],
  facts: CallFacts,
  { default: fallback }: DecisionContext,
): Step {
  const rules = candidates.filter((rule) => appliesTo(rule, facts))
  if (rules.length === 0) {
    const reasons: DecisionReason[] =
      fallback === undefined
        ? []
        : [{ stage: "default", verdict: fallback, text: `No rule applies to ${subject}; the default is ${fallback}.` }]
    return { subject, verdict: fallback, via: undefined, reasons, rules }
  }
  rules.sort((left, right) => strictness(right.verdict) - strictness(left.verdict))
  const verdict = rules[0]?.verdict
  const asking = verdict === "ask" ? rules.map(({ via }) => via) : []
  return {
    subject,
    verdict,
    via: asking.includes("pause") ? "pause" : asking.includes("wait") ? "wait" : undefined,
    reasons: rules.map((rule) => reasonOf(rule, subject)),
    rules,
  }
}

function reasonOf({ verdict, reason, name }: CompiledRule, subject: string): DecisionReason {
  return { stage: "rule", verdict, text: reason ?? `A rule says ${verdict} for ${subject}.`, rule: name }
}

/** Without a verdict the tier decides as before: nothing has allowed the call yet. */
function atLeastAsk(step: Step, text: string): Step {
  if (step.verdict !== "allow") return step
  return { ...step, verdict: "ask", reasons: [{ stage: "rule", verdict: "ask", text }, ...step.reasons] }
}

function factsOf(call: PolicyCall): CallFacts {
  return { call, paths: [], urls: [], command: undefined }
}

function shown({ words, isOpen }: ShellCommand): string {
  return clipped(
    [...words.map(({ text, isFixed }) => (isFixed ? quoted(text) : text)), ...(isOpen ? ["…"] : [])].join(" "),
  )
}

function quoted(word: string): string {
  return /^[^\s'"\\]+$/.test(word) ? word : JSON.stringify(word)
}

function clipped(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}
