import type { Json } from "../contract/json.ts"
import type {
  AlwaysScope,
  AskVia,
  DecisionReason,
  Policy,
  PolicyCall,
  PolicyMode,
  PolicyService,
  RuleDecision,
  Ruled,
  Rules,
  ServiceOutput,
  ServiceVerdict,
} from "../contract/policy.ts"
import type { Risk, UsesOf } from "../contract/tool.ts"
import { orAborted } from "../lib/abort.ts"
import { canonicalJson, isJsonObject, jsonCopy } from "../lib/json.ts"
import { whyTooLarge } from "../lib/schema/argument-size.ts"
import { deciding, FAILED, ruleDecision, ruledBy } from "./rule-decision.ts"

/** A policy that is ready to decide. */
export interface ActivePolicy extends Pick<Policy, "ask" | "onAsk"> {
  readonly mode: PolicyMode
  readonly rules: Rules
  readonly services: readonly PolicyService[]
  readonly preApproved: readonly string[]
  readonly askTimeoutMs: number
}

/** The decision about one call. `args`: the final arguments, to which it is bound. `ruled`: what the rules said, for the second evaluation. */
export type CallDecision = {
  readonly args: Json
  readonly reasons: readonly DecisionReason[]
  readonly ruled?: Ruled | undefined
} & (
  | { readonly verdict: "allow" }
  | { readonly verdict: "deny"; readonly reason: string }
  | {
      readonly verdict: "ask"
      readonly via: AskVia
      readonly question: string
      readonly always?: AlwaysScope | undefined
    }
)

/** `blocked`: the output is withheld. `opened`: services that let it pass because they were silent. */
export interface OutputDecision {
  readonly blocked?: DecisionReason
  readonly opened: readonly DecisionReason[]
}

/** The runtime's facts about a call, apart from the call itself. */
export interface DecisionFacts {
  /** The tool's own risk. */
  readonly risk: Risk
  /** The calls that people have allowed in this run. */
  readonly allowed: readonly AlwaysScope[]
  /** True if a person has approved exactly these arguments: nothing is asked again, but the call can still be denied. */
  readonly isApproved?: boolean
  digest(args: Json): string
  /** The arguments as services and records may see them: with references instead of secrets. */
  mask(args: Json): Json
  /** Aborts when the run is stopped: services are not waited for. */
  readonly signal?: AbortSignal
}

/** True if `decideCall` would allow every call of the tool and `scanOutput` would pass all its outputs. */
export function allowsAtOnce(policy: ActivePolicy, tool: string, risk: Risk, uses?: UsesOf): boolean {
  const { rules, services } = policy
  if (services.length > 0 || !rules.allowsAtOnce(tool, uses)) return false
  return (
    rules.allowsAlways(tool, uses) || !asksForTier(policy, tierOf(policy, tool, risk)) || isPreApproved(policy, tool)
  )
}

/**
 * Decides one call: rules and services first, of which each can deny, ask or rewrite; then the risk tier, if no rule matched;
 * then what people allowed before. The strictest stage decides. A stage that fails denies the call.
 */
export async function decideCall(policy: ActivePolicy, call: PolicyCall, facts: DecisionFacts): Promise<CallDecision> {
  const tooLarge = whyTooLarge(call.args)
  if (tooLarge !== undefined) return denied({ args: call.args, reasons: [] }, reason("rule", "deny", tooLarge))
  const found = await askStages(policy, call, facts)
  const { args, reasons, ruled } = found
  if (found.denied !== undefined) return denied(found, found.denied)
  const open = facts.isApproved ? [] : await openAsks(policy, found.asks, { ...call, args }, facts)
  const strictest = open.find(({ isFirm }) => isFirm) ?? open[0]
  if (strictest === undefined) {
    const isListed = found.asks.length > 0 && !facts.isApproved
    return { verdict: "allow", args, ruled, reasons: isListed ? [...reasons, allowListed(call.tool)] : reasons }
  }
  if (policy.mode === "deny") return denied(found, reason("mode", "deny", `The mode is deny. ${strictest.text}`))
  const via = viaOf(policy, strictest)
  if (via === undefined) return denied(found, reason("approval", "deny", `${strictest.text} ${NO_APPROVER}`))
  const always = open.every(({ isFirm }) => !isFirm) ? await policy.rules.alwaysScope({ ...call, args }) : undefined
  return { verdict: "ask", args, ruled, reasons, via, question: strictest.text, always }
}

/** Decides whether an output may be passed on, also that of a failed call. */
export async function scanOutput(
  { rules, services }: ActivePolicy,
  call: PolicyCall,
  output: ServiceOutput,
  { digest, signal }: Pick<DecisionFacts, "digest" | "signal">,
): Promise<OutputDecision> {
  const opened: DecisionReason[] = []
  const blocked = contained(() => rules.scan(call, output.text), reason("output", "block", FAILED))
  if (blocked) return { blocked, opened }
  for (const service of services) {
    const verdict = await verdictOf("block", signal, () =>
      service.scan(boundCall(call, digest(call.args)), output, signal),
    )
    if (verdict.decision !== "allow") return { blocked: ofService(verdict, "block"), opened }
    if (verdict.opened !== undefined) opened.push(reason("service", "allow", verdict.opened))
  }
  return { opened }
}

/** A question of one stage. `isFirm`: only a person can answer it, not the allow-list. */
interface Ask {
  readonly text: string
  readonly isFirm: boolean
  readonly via?: AskVia
}

interface Stages {
  readonly args: Json
  readonly reasons: readonly DecisionReason[]
  readonly asks: readonly Ask[]
  readonly denied?: DecisionReason
  readonly ruled: Ruled
}

/** Rules and services decide again after each rewrite of a service; after the third they deny. */
async function askStages(policy: ActivePolicy, call: PolicyCall, facts: DecisionFacts): Promise<Stages> {
  let args = call.args
  const reasons: DecisionReason[] = []
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const ruled = await ruleDecision(policy.rules, { ...call, args })
    reasons.push(...ruled.reasons)
    args = ruled.args ?? args
    const base = { args, reasons, ruled: ruledBy(ruled) }
    if (ruled.verdict === "deny") return { ...base, asks: [], denied: deciding(ruled) }
    const served = policy.services.length === 0 ? notServed : await askServices(policy, { ...call, args }, facts)
    reasons.push(...served.reasons)
    if (served.denied) return { ...base, asks: [], denied: served.denied }
    if (served.args === undefined) {
      const tier = ruled.verdict === undefined ? askOfTier(policy, call.tool, facts.risk) : undefined
      if (tier) reasons.push(tier.reason)
      return { ...base, asks: [...askOfRules(ruled), ...served.asks, ...(tier ? [tier.ask] : [])] }
    }
    args = served.args
  }
  const unstable = reason("service", "deny", "The arguments were rewritten too many times.")
  return { args, reasons: [...reasons, unstable], asks: [], denied: unstable, ruled: { verdict: "deny", asked: [] } }
}

function askOfRules(ruled: RuleDecision): readonly Ask[] {
  if (ruled.verdict !== "ask") return []
  const { stage, text } = deciding(ruled)
  return [{ text, isFirm: stage !== "default", ...(ruled.via && { via: ruled.via }) }]
}

/** The combined decision of the services. `args`: the rewritten arguments. */
interface Served extends Pick<Stages, "reasons" | "asks" | "denied"> {
  readonly args?: Json
}

const notServed: Served = { reasons: [], asks: [] }

async function askServices({ services }: ActivePolicy, call: PolicyCall, facts: DecisionFacts): Promise<Served> {
  const { digest, mask, signal } = facts
  const reasons: DecisionReason[] = []
  const asks: Ask[] = []
  const args = mask(call.args)
  for (const service of services) {
    const verdict = await verdictOf("deny", signal, () =>
      service.decide(boundCall({ ...call, args }, digest(call.args)), signal),
    )
    if (verdict.decision === "allow") {
      if (verdict.opened !== undefined) reasons.push(reason("service", "allow", verdict.opened))
      if (verdict.args === undefined || canonicalJson(verdict.args) === canonicalJson(args)) continue
      if (args !== call.args) return { reasons, asks, denied: reason("service", "deny", SECRETS_REWRITTEN) }
      reasons.push(reason("service", "rewrite", "A policy service changed the arguments."))
      return { reasons, asks, args: jsonCopy(verdict.args) }
    }
    const given = ofService(verdict, verdict.decision === "ask" ? "ask" : "deny")
    reasons.push(given)
    if (verdict.decision !== "ask") return { reasons, asks, denied: given }
    asks.push({ text: given.text, isFirm: true })
  }
  return { reasons, asks }
}

/** The call for a service, which cannot change it. */
function boundCall(call: PolicyCall, digest: string) {
  return { ...call, args: jsonCopy(call.args), digest }
}

/** An exception and a verdict that is not understood are `failed`: a service may be any object of the host. */
async function verdictOf(
  failed: "deny" | "block",
  signal: AbortSignal | undefined,
  ask: () => Promise<ServiceVerdict>,
): Promise<ServiceVerdict> {
  try {
    const verdict: unknown = await orAborted(ask(), signal)
    if (signal?.aborted) return { decision: failed, reason: STOPPED }
    // Safe: checked by `isVerdict`.
    if (isVerdict(verdict)) return verdict as ServiceVerdict
  } catch {
    // Reported below.
  }
  return { decision: failed, reason: FAILED }
}

function isVerdict(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { decision, args, reason } = value
  if (decision === "allow") return args === undefined || isJsonObject(args)
  return (decision === "deny" || decision === "ask" || decision === "block") && typeof reason === "string"
}

function askOfTier(policy: ActivePolicy, tool: string, risk: Risk) {
  const tier = tierOf(policy, tool, risk)
  if (!asksForTier(policy, tier)) return undefined
  const given = reason("tier", "ask", `${tool} has ${tier} risk.`)
  return { reason: given, ask: { text: `${tool} needs approval.`, isFirm: false } }
}

function tierOf({ rules }: ActivePolicy, tool: string, risk: Risk): Risk {
  return rules.tier(tool) ?? risk
}

/** A medium-risk tool asks only if there is a callback to ask. */
function asksForTier({ mode, onAsk }: ActivePolicy, tier: Risk): boolean {
  if (mode === "auto") return false
  return tier === "high" || (tier === "medium" && onAsk !== undefined)
}

/** An allow-list answers what the tier or the default asks, never what a rule or a service asks. */
async function openAsks(
  policy: ActivePolicy,
  asks: readonly Ask[],
  call: PolicyCall,
  { allowed }: DecisionFacts,
): Promise<readonly Ask[]> {
  if (asks.every(({ isFirm }) => isFirm)) return asks
  return (await isAllowListed(policy, call, allowed)) ? asks.filter(({ isFirm }) => isFirm) : asks
}

async function isAllowListed(
  policy: ActivePolicy,
  call: PolicyCall,
  allowed: readonly AlwaysScope[],
): Promise<boolean> {
  if (isPreApproved(policy, call.tool)) return true
  for (const scope of allowed) if (await policy.rules.covers(scope, call)) return true
  return false
}

function isPreApproved({ preApproved }: ActivePolicy, tool: string): boolean {
  return preApproved.includes(tool)
}

/** True if `onAsk` is asked what a rule does not ask. */
export function asksLive(policy: Pick<ActivePolicy, "ask" | "onAsk">): boolean {
  return viaOf(policy) === "wait"
}

/** Undefined: there is no approver. */
function viaOf(
  { ask, onAsk }: Pick<ActivePolicy, "ask" | "onAsk">,
  { via }: Pick<Ask, "via"> = {},
): AskVia | undefined {
  const wanted = via ?? ask ?? (onAsk && "wait")
  return wanted === "wait" && !onAsk ? undefined : wanted
}

function denied({ args, reasons }: Pick<Stages, "args" | "reasons">, why: DecisionReason): CallDecision {
  const known = reasons.includes(why) ? reasons : [...reasons, why]
  return { verdict: "deny", args, reasons: known, reason: why.text }
}

function ofService(
  { reason: text, rule }: Exclude<ServiceVerdict, { readonly decision: "allow" }>,
  verdict: DecisionReason["verdict"],
): DecisionReason {
  return { stage: "service", verdict, text, ...(rule !== undefined && { rule }) }
}

function allowListed(tool: string): DecisionReason {
  return reason("allow-list", "allow", `${tool} was allowed before.`)
}

function reason(stage: DecisionReason["stage"], verdict: DecisionReason["verdict"], text: string): DecisionReason {
  return { stage, verdict, text }
}

function contained<Value>(work: () => Value, failed: Value): Value {
  try {
    return work()
  } catch {
    return failed
  }
}

const MAX_ROUNDS = 3
/** The service saw references: what it returned for them could name any secret. */
const SECRETS_REWRITTEN = "A policy service cannot change a call that contains secrets."
const STOPPED = "The run is being stopped."
const NO_APPROVER = 'There is no approver: set policy.onAsk, or policy.ask to "pause".'
