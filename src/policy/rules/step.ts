import type { FileEntry } from "../../contract/env.ts"
import type { AskVia, DecisionReason, RuleVerdict } from "../../contract/policy.ts"
import type { CommandLine } from "../shell/command-line.ts"
import { appliesTo, type CompiledRule, type RuleFacts } from "./compile-rule.ts"
import type { FindPaths } from "./find-paths.ts"
import type { ToolRules } from "./rule-index.ts"
import type { NamedCall } from "./tool-names.ts"

/** The decision about one part of a call: one use of it, one command of a line, or one redirect. */
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
  readonly rulesOf: (call: NamedCall) => ToolRules
  /** Some rule refuses something, to any tool. */
  readonly refuses: boolean
  /** Some rule refuses paths, to any tool. */
  readonly refusesPaths: boolean
  readonly default: RuleVerdict | undefined
  /** Absent: not set. */
  readonly unparsed: "ask" | "deny" | "sandboxed" | undefined
  readonly findPaths: FindPaths
  readonly readLine: (line: string) => Promise<CommandLine>
  /** Absent: there is no file system to look at. */
  readonly listFolder: ((path: string) => Promise<readonly FileEntry[]>) | undefined
}

/** From the most permissive. Without a verdict the risk tier decides, which may ask. */
export function strictness(verdict: RuleVerdict | undefined): number {
  return verdict === undefined ? 1 : { allow: 0, ask: 2, deny: 3 }[verdict]
}

export function stepFor(
  subject: string,
  candidates: readonly CompiledRule[],
  facts: RuleFacts,
  { default: fallback }: Pick<DecisionContext, "default">,
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
export function atLeastAsk(step: Step, text: string): Step {
  if (step.verdict !== "allow") return step
  return { ...step, verdict: "ask", reasons: [{ stage: "rule", verdict: "ask", text }, ...step.reasons] }
}

/** The same where a rule might refuse it: no tier may pass it either. */
export function askWhereRefused(step: Step, text: string): Step {
  return atLeastAsk({ ...step, verdict: step.verdict ?? "allow" }, text)
}
