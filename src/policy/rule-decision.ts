import type { DecisionReason, PolicyCall, RuleDecision, Ruled, Rules } from "../contract/policy.ts"

/** Rules that fail deny the call. */
export async function ruleDecision(rules: Rules, call: PolicyCall): Promise<RuleDecision> {
  try {
    return await rules.decide(call)
  } catch {
    return { verdict: "deny", reasons: [{ stage: "rule", verdict: "deny", text: FAILED }] }
  }
}

/** The reason of the rule that decides stands first. */
export function deciding({ reasons, verdict = "deny" }: RuleDecision): DecisionReason {
  return reasons[0] ?? { stage: "rule", verdict, text: "A rule of the policy requires this." }
}

/** The verdict that a later evaluation of the rules is compared with. */
export function ruledBy({ verdict, reasons }: RuleDecision): Ruled {
  return { verdict, asked: reasons.flatMap((each) => (each.verdict === "ask" ? [each.rule ?? each.text] : [])) }
}

/**
 * Why a decided call must not begin now: where its paths lead has changed, and the rules are stricter about it than before. People
 * and services have decided, and are not asked again.
 */
export async function refusedNow(rules: Rules, call: PolicyCall, before: Ruled): Promise<string | undefined> {
  const now = await ruleDecision(rules, call)
  if (now.verdict === "deny") return deciding(now).text
  const { verdict, asked } = ruledBy(now)
  const isStricter = RANKS.indexOf(verdict) > RANKS.indexOf(before.verdict)
  return isStricter || asked.some((each) => !before.asked.includes(each)) ? CHANGED : undefined
}

/** From the most permissive. Without a verdict the tier decides. */
const RANKS: readonly RuleDecision["verdict"][] = ["allow", undefined, "ask", "deny"]
const CHANGED = "a path of it leads elsewhere, or the policy has changed, since it was decided: call it again"
export const FAILED = "The policy failed."
