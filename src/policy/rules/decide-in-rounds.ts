import type { Json } from "../../contract/json.ts"
import type { PolicyCall, RuleDecision } from "../../contract/policy.ts"
import { canonicalJson } from "../../lib/json.ts"
import type { CompiledRule } from "./compile-rule.ts"
import { stepsOf } from "./decide-call.ts"
import { withValueAt } from "./pointer.ts"
import { type DecisionContext, type Step, strictness } from "./step.ts"

/** A decision, and the decisions about each part of the call before any rewrite. */
export interface Explained {
  readonly decision: RuleDecision
  readonly steps: readonly Step[]
}

/** Rewritten arguments are decided again, so that no rule is bypassed by another one's change. */
export async function decideInRounds(given: PolicyCall, context: DecisionContext): Promise<Explained> {
  let call = given
  let first: readonly Step[] | undefined
  const rewrites: RuleDecision["reasons"][number][] = []
  for (let round = 0; ; round++) {
    const steps = await stepsOf(call, context)
    first ??= steps
    const decision = combine(steps)
    const isChanged = call !== given
    const isFinal = decision.verdict === "deny" || !steps.some(changesArgs)
    const changed = isFinal ? { args: call.args, rules: [] } : rewritten(call.args, steps)
    if (changed === undefined || (changed.rules.length > 0 && round === mostRounds)) {
      const text =
        changed === undefined
          ? "Rules change the same argument in different ways."
          : `Rules still change the arguments after ${mostRounds} rounds.`
      const reasons = [{ stage: "rule", verdict: "deny", text } as const, ...rewrites, ...decision.reasons]
      return { decision: { verdict: "deny", reasons }, steps: first }
    }
    if (changed.rules.length === 0) {
      if (!isChanged) return { decision, steps: first }
      return { decision: { ...decision, args: call.args, reasons: [...decision.reasons, ...rewrites] }, steps: first }
    }
    for (const { name, reason } of changed.rules) {
      rewrites.push({ stage: "rule", verdict: "rewrite", text: reason ?? "Arguments were changed.", rule: name })
    }
    call = { ...call, args: changed.args }
  }
}

function combine(steps: readonly Step[]): RuleDecision {
  const sorted =
    steps.length === 1 ? steps : [...steps].sort((left, right) => strictness(right.verdict) - strictness(left.verdict))
  const verdict = sorted[0]?.verdict
  const vias = verdict === "ask" ? sorted.filter((step) => step.verdict === "ask").map(({ via }) => via) : []
  const via = vias.includes("pause") ? "pause" : vias.includes("wait") ? "wait" : undefined
  return { verdict, via, reasons: withoutRepetition(sorted.flatMap(({ reasons }) => reasons)) }
}

/** A rule may apply to several uses of a call. */
function withoutRepetition(reasons: RuleDecision["reasons"]): RuleDecision["reasons"] {
  if (reasons.length < 2) return reasons
  return [...new Map(reasons.map((reason) => [`${reason.rule} ${reason.verdict} ${reason.text}`, reason])).values()]
}

function changesArgs({ rules }: Step): boolean {
  return rules.some(({ changes }) => changes.length > 0)
}

interface Rewritten {
  readonly args: Json
  /** The rules that changed something. */
  readonly rules: readonly CompiledRule[]
}

/** Undefined if two rules disagree: the order of rules does not matter, so neither may win. */
function rewritten(given: Json, steps: readonly Step[]): Rewritten | undefined {
  const changing = new Set(steps.flatMap(({ rules }) => rules.filter(({ changes }) => changes.length > 0)))
  let args = given
  const rules: CompiledRule[] = []
  const values = new Map<string, string>()
  for (const rule of changing) {
    const before = args
    for (const { parts, value } of rule.changes) {
      const place = parts.join("/")
      const text = canonicalJson(value)
      if ((values.get(place) ?? text) !== text) return undefined
      values.set(place, text)
      const changed = withValueAt(args, parts, value)
      if (changed === undefined) return undefined
      args = changed
    }
    if (canonicalJson(before) !== canonicalJson(args)) rules.push(rule)
  }
  return { args, rules }
}

const mostRounds = 3
