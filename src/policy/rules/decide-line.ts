import type { PolicyCall } from "../../contract/policy.ts"
import { addressesOf, type NamedAddresses } from "../shell/addresses.ts"
import type { CommandLine, ReadableLine, Redirect, ShellCommand } from "../shell/command-line.ts"
import { changesPaths, makesLink, redirectsOfOptions } from "../shell/programs.ts"
import { mayStartPrograms } from "../shell/variables.ts"
import { pathsOfCommand } from "./command-paths.ts"
import { wordsOf } from "./command-pattern.ts"
import { appliesTo, factsOf, type RuleFacts, refusesAddresses, refusesPaths, refusesUse } from "./compile-rule.ts"
import type { Part } from "./known-tools.ts"
import { whyAskReach } from "./reach-step.ts"
import type { ToolRules } from "./rule-index.ts"
import { askWhereRefused, atLeastAsk, type DecisionContext, type Step, stepFor, strictness } from "./step.ts"

/** Decides every command and redirect of a line. `isKnown` false: the tool may do something else with the line. */
export async function lineSteps(
  call: PolicyCall,
  text: Part,
  isKnown: boolean,
  rules: ToolRules,
  context: DecisionContext,
): Promise<readonly Step[]> {
  const facts = factsOf(call, { isKnown })
  if (!concernsLines(rules, context)) return [stepFor(call.tool, rules.all, facts, context)]
  const line: CommandLine =
    text === undefined ? { isReadable: false, reason: "the command is not a text" } : await context.readLine(text)
  if (!line.isReadable) return [unreadableStep(call, line.reason, rules, context)]
  const steps: Step[] = []
  for (const command of line.commands) steps.push(await commandStep(facts, command, line, rules, context))
  const implied = line.commands.flatMap(redirectsOfOptions)
  for (const redirect of [...line.redirects, ...implied]) {
    const step = await redirectStep(call, redirect, line, context)
    if (step !== undefined) steps.push(step)
  }
  return steps.length > 0 ? steps : [stepFor(call.tool, rules.all, facts, context)]
}

/** If the policy says nothing about commands and refuses nothing, their tool's risk tier decides, whatever the line is. */
function concernsLines(rules: ToolRules, { default: fallback, unparsed, refuses, rulesOf }: DecisionContext): boolean {
  if (rules.concernsCommands || fallback !== undefined || unparsed !== undefined || refuses) return true
  return ["Write", "Read"].some((tool) => rulesOf({ tool, args: {} }).all.length > 0)
}

async function commandStep(
  facts: RuleFacts,
  command: ShellCommand,
  line: ReadableLine,
  rules: ToolRules,
  context: DecisionContext,
): Promise<Step> {
  const { call } = facts
  const words = wordsOf(command)
  const { named, unknown } = rules.usesPath ? pathsOfCommand(command, line) : noNames
  const written = named.map(({ path }) => path)
  const found = written.length === 0 ? noPaths : await context.findPaths(written, call)
  const paths = found.paths.map((path, index) => ({ ...path, can: named[index]?.can }))
  const candidates = rules.forCommand(words)
  const addresses = candidates.some(refusesAddresses) ? addressesOf(command) : noAddresses
  const uses = { paths, urls: addresses.named, command: words }
  const step = stepFor(shown(command), candidates, { ...facts, ...uses }, context)
  if (isContained(call, context)) return step
  const [variable] = command.variables
  const starting = context.refuses ? command.variables.find(mayStartPrograms) : undefined
  if (starting !== undefined) return askWhereRefused(step, `${starting} can make it start other programs.`)
  if (context.refusesPaths && makesLink(command)) {
    return askWhereRefused(step, "It makes a link, which may lead to a path that a rule refuses.")
  }
  if (unknown.some((can) => candidates.some((rule) => refusesUse(rule, can)))) {
    return askWhereRefused(step, "A word of the command is computed, or may lead elsewhere by then: it may be a path.")
  }
  if (addresses.isOpen) {
    return askWhereRefused(step, "A word of the command is computed: it may be an address.")
  }
  if (found.isUnresolved && candidates.some(refusesPaths)) {
    return askWhereRefused(step, "A path of the command cannot be resolved.")
  }
  const reaching = await whyAskReach(call, command, line, rules, context)
  if (reaching !== undefined) return askWhereRefused(step, reaching)
  return variable === undefined ? step : atLeastAsk(step, `${variable} can change what the command does.`)
}

const noNames = { named: [], unknown: [] }
const noAddresses: NamedAddresses = { named: [], isOpen: false }

/** Undefined if it writes nowhere. */
async function redirectStep(
  call: PolicyCall,
  { access, target }: Redirect,
  { changesFolder, commands }: ReadableLine,
  context: DecisionContext,
): Promise<Step | undefined> {
  if (target.isFixed && target.text === "/dev/null") return undefined
  const tool = access === "write" ? "Write" : "Read"
  const subject = `${tool} ${clipped(target.text)}`
  const made: PolicyCall = { ...call, tool, args: { path: target.text }, isShell: false }
  const rules = context.rulesOf(made)
  const isFree = isContained(call, context)
  const own = isFree ? { default: "allow" as const } : context
  const asked = rules.all.some((rule) => refusesUse(rule, access)) ? askWhereRefused : atLeastAsk
  const isMoved = commands.length > 1 && commands.some(changesPaths)
  // The kernel resolves `link/..` differently from the file tools.
  const isComputed =
    !target.isFixed ||
    (isMoved && context.refusesPaths) ||
    (changesFolder && !target.text.startsWith("/")) ||
    /[^./][^/]*\/+\.\.(\/|$)/.test(target.text)
  if (isComputed) {
    const step = stepFor(subject, rules.all, factsOf(made), own)
    return isFree ? step : asked(step, "The target of a redirect is computed.")
  }
  const found = rules.usesPath ? await context.findPaths([target.text], call) : noPaths
  const paths = found.paths.map((path) => ({ ...path, can: access }))
  const step = stepFor(subject, rules.all, factsOf(made, { paths }), own)
  return found.isUnresolved ? asked(step, "The target of a redirect cannot be resolved.") : step
}

const noPaths = { paths: [], isUnresolved: false }

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
  const isConcerned =
    rules.concernsCommands || context.default !== undefined || context.unparsed !== undefined || context.refuses
  const step = stepFor("an unreadable command line", refusing, facts, { default: undefined })
  if (!isConcerned) return step
  const given: Step = { ...step, verdict: own, reasons: [{ stage: "rule", verdict: own, text }], rules: [] }
  if (step.verdict === undefined || strictness(own) > strictness(step.verdict)) {
    return { ...given, reasons: [...given.reasons, ...step.reasons] }
  }
  return { ...step, reasons: [...step.reasons, ...given.reasons] }
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
