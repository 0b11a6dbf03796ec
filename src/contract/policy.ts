import type { FileGuard, PathRefusals } from "./env.ts"
import type { Json, JsonObject } from "./json.ts"
import type { Risk, UsesOf } from "./tool.ts"

/** A call as the policy sees it. Known secrets in `args` have their real values: rules must see what would run. */
export interface PolicyCall {
  /** The tool's name; `mcp:<server>/<tool>` for a tool of an MCP server. */
  readonly tool: string
  readonly args: Json
  /** The declaration of the tool. Absent: as the built-in tool of that name, else unknown. */
  readonly uses?: UsesOf
  /** It is a shell, whatever its name: rules for `Bash` apply too, and its argument is a command. */
  readonly isShell?: boolean
  readonly callId: string
  /** Absolute, as is `workspace`. */
  readonly cwd: string
  readonly workspace: string
  readonly runId: string
  /** Names the run among those of all workspaces and stores: two tenants may both have a run of one id. Absent outside runs. */
  readonly runScope?: string
  /** The path of the subagent that makes the call, for example `root/reviewer`. Absent: the root agent. */
  readonly agent?: string
  /** The name of the backend, for example `native` or `acp:gemini`. */
  readonly backend: string
  /** Who asks a policy service: the subject of the key or token. */
  readonly subject?: string
  /** True if commands run in a required sandbox. */
  readonly sandboxed: boolean
  /** That sandbox enforces what rules refuse to read and to write. */
  readonly hidesRefused?: boolean
}

/** How strict a rule is, from the most permissive to the strictest. */
export type RuleVerdict = "allow" | "ask" | "deny"

/** `wait`: `onAsk` is called and the run waits for it. `pause`: the run pauses until it is resumed with a decision. */
export type AskVia = "wait" | "pause"

/** `ask` (default): by risk tier. `auto`: risk tiers never ask. `deny`: refuses every call that would need to ask. */
export type PolicyMode = "auto" | "ask" | "deny"

/**
 * The conditions of a rule: all given keys must match; a list matches if one of its entries does. See docs/guides/policy.md
 * for the syntax of each pattern.
 */
export interface Matcher {
  /** Absent: every tool. Required if there is none of `read`, `write`, `exec`, `fetch` and `path`. */
  readonly tool?: string | readonly string[]
  /** Patterns for the paths that a call reads, with whatever tool. At most one of the four words, and of `path`, per rule. */
  readonly read?: string | readonly string[]
  /** Patterns for the paths that a call writes, moves or removes. */
  readonly write?: string | readonly string[]
  /** Patterns for the words of a command that a call runs. */
  readonly exec?: string | readonly string[]
  /** Patterns for the URLs that a call fetches. */
  readonly fetch?: string | readonly string[]
  /** As `exec`, also for an argument `command` of a tool whose use is unknown. */
  readonly command?: string | readonly string[]
  /** Patterns for the paths that a call uses in any way. */
  readonly path?: string | readonly string[]
  /** As `fetch`, also for an argument `url` of a tool whose use is unknown. */
  readonly url?: string | readonly string[]
  /** Regular expressions by JSON pointer: refusals search them anywhere, without case; permissions are for whole values. A missing value never matches. */
  readonly args?: Readonly<Record<string, string>>
  readonly agent?: string | readonly string[]
  readonly backend?: string | readonly string[]
  readonly workspace?: string | readonly string[]
  /** Who asks a policy service: the subject of the key or token. Calls of this process have none. */
  readonly subject?: string | readonly string[]
  /** True if commands run in a required sandbox. */
  readonly sandboxed?: boolean
}

/** One rule: exactly one of `allow`, `ask` and `deny`. The strictest matching rule decides; the order of rules does not matter. */
export interface PolicyRule {
  readonly allow?: Matcher
  readonly ask?: Matcher
  readonly deny?: Matcher
  /** Calls to which this rule does not apply: the keys given here, combined with the other keys of the rule. */
  readonly except?: Partial<Matcher>
  /** Shown to the model and to the person who is asked. */
  readonly reason?: string
  /** How an `ask` rule asks. Default: the policy's `ask`. */
  readonly via?: AskVia
  /** Replaces arguments, by JSON pointer, if an `allow` or `ask` rule matches. The changed call is decided again. */
  readonly set?: Readonly<Record<string, Json>>
}

/** Blocks the output of a tool in which the regular expression is found. */
export interface OutputRule {
  readonly block: { readonly tool: string | readonly string[]; readonly pattern: string }
  readonly reason?: string
}

/** A case that a policy file must satisfy when it is loaded. */
export interface PolicyTest {
  readonly call: {
    readonly tool: string
    readonly args?: JsonObject
    readonly agent?: string
    readonly backend?: string
    readonly workspace?: string
    readonly cwd?: string
  }
  readonly expect: RuleVerdict
}

export type PolicyPreset = "read-only" | "workspace-write" | "autonomous" | "locked-down"

/** The part of a policy that a file can contain. */
export interface PolicyDocument {
  readonly version?: 1
  /** A preset, or the path of another file. Its rules are added to these. */
  readonly extends?: PolicyPreset | (string & {})
  /** Applies where no rule matches. Absent: the risk tier decides. */
  readonly default?: RuleVerdict
  /**
   * Applies to commands that cannot be read. `sandboxed`: allowed inside a required sandbox, else `ask`. Default `ask`,
   * or `deny` if that is the default of the policy.
   */
  readonly unparsed?: "ask" | "deny" | "sandboxed"
  readonly rules?: readonly PolicyRule[]
  readonly output?: readonly OutputRule[]
  /** Risk tiers by tool name or pattern; a name precedes patterns, and both precede the tools' own. */
  readonly tiers?: Readonly<Record<string, Risk>>
  readonly services?: readonly PolicyServiceOptions[]
  readonly tests?: readonly PolicyTest[]
}

/** One document of a policy. `source` names it for people, for example `longhaul.policy.yaml`. */
export interface PolicySource {
  readonly document: PolicyDocument
  readonly source: string
  /** It was found and not named: only its restrictions apply, not its services. */
  readonly restrictsOnly?: boolean
}

/** The settings of a policy. Every key is optional. */
export interface Policy extends Omit<PolicyDocument, "services"> {
  /** Services that decide about each call: addresses, or clients of your own. */
  readonly services?: readonly (PolicyServiceOptions | PolicyService)[]
  readonly mode?: PolicyMode
  /** Tools that run without asking, where only their tier, the mode or `default` would ask. */
  readonly preApproved?: readonly string[]
  /** Default: `wait` if `onAsk` is given. Without both, every call that would need an approval is denied; questions pause the run. */
  readonly ask?: AskVia
  /** How long `onAsk` may take; then an approval is denied, and the run pauses for a question. Default 60 s. */
  readonly askTimeoutMs?: number
  /** Asks a person. An exception or an unknown decision denies the call; the run pauses for a question that has no answer. */
  readonly onAsk?: (request: ApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>
  /** Further documents: the rules of all of them apply. */
  readonly documents?: readonly PolicySource[]
  /** A policy file. Names resolve in `longhaul/node` only. */
  readonly file?: string
}

/** The policy of one run, in addition to the runtime's. */
export type RunPolicy = Omit<Policy, "file" | "tests" | "services"> & Pick<PolicyDocument, "services">

/** The part of a run's own policy that is stored with the run and applies again when it is resumed. */
export type RecordedPolicy = Omit<RunPolicy, "onAsk">

/** A question to a person about exactly one call. The same type for callbacks, pauses and webhooks. */
export interface ApprovalRequest {
  /** Identifies this question: the ticket of a pause. */
  readonly requestId: string
  readonly runId: string
  readonly nodeId: string
  /** The agent of the run that makes the call. Absent: the run itself. */
  readonly agent?: string
  readonly callId: string
  /** The same as `callId`. */
  readonly toolUseId: string
  readonly tool: string
  /** The same as `tool`. */
  readonly toolName: string
  /** Complete; known secrets, token formats and fields with secret names are masked. */
  readonly args: Json
  /** `args` as JSON, complete. */
  readonly argumentsSummary: string
  readonly tier: Risk
  /** The same as `tier`. */
  readonly riskTier: Risk
  readonly model: string | null
  readonly question: string
  /** `approval`: whether the call may run. `input`: the call needs an answer. */
  readonly reason: "approval" | "input"
  /** The call itself asks, while it runs: `approve` is a yes without a text. */
  readonly by?: "tool"
  /** The scope of the decision `always`. Absent: a rule or a service asks, and `always` approves this call only. */
  readonly always?: AlwaysScope
  /** Aborts when the question is no longer open. */
  readonly signal: AbortSignal
}

/** The calls that `always` allows, in this run only. */
export interface AlwaysScope {
  readonly tool: string
  /** For commands: a word pattern such as `git diff *`. Absent: every call of the tool. */
  readonly command?: string
}

/** `answer`: to a question; for an approval the model gets it as the reason, and the call is `denied`. `pause`: a person decides later. */
export type ApprovalDecision =
  | { readonly decision: "approve"; readonly args?: Json }
  | { readonly decision: "deny"; readonly reason?: string }
  | { readonly decision: "always" }
  | { readonly decision: "answer"; readonly text: string }
  | { readonly decision: "pause" }

/** One step of a decision, for people who review it. */
export interface DecisionReason {
  readonly stage: "rule" | "default" | "tier" | "mode" | "allow-list" | "service" | "gate" | "approval" | "output"
  readonly verdict: RuleVerdict | "rewrite" | "block"
  readonly text: string
  /** The rule that matched, for example `rules[2] of longhaul.policy.yaml`. */
  readonly rule?: string
}

/** The rules' verdict on a call. `verdict` undefined: no rule matches and there is no default. */
export interface RuleDecision {
  readonly verdict?: RuleVerdict | undefined
  readonly via?: AskVia | undefined
  /** The rewritten arguments, if a rule changed them. */
  readonly args?: Json
  /** Every rule that matched, the deciding one first. */
  readonly reasons: readonly DecisionReason[]
}

/** The rules' verdict on a call when it was decided. */
export interface Ruled {
  readonly verdict: RuleVerdict | undefined
  /** The rules and reasons that asked. */
  readonly asked: readonly string[]
}

/** Compiled rules. */
export interface Rules {
  /** Decides one call. Rejects only for a bug: what cannot be decided is an `ask` or a `deny`. */
  decide(call: PolicyCall): Promise<RuleDecision>
  /** True if every call of the tool is allowed by a rule or matched by none, and no output rule applies to it. `uses`: its own. */
  allowsAtOnce(tool: string, uses?: UsesOf): boolean
  /** True if the rules allow every call of the tool, so that its tier does not lead to a question. */
  allowsAlways(tool: string, uses?: UsesOf): boolean
  /** False: no output rule applies to the tool, and `scan` need not be called. */
  scansOutput(tool: string): boolean
  /** The reason to withhold an output, if any. */
  scan(call: Pick<PolicyCall, "tool" | "isShell">, output: string): DecisionReason | undefined
  /**
   * Checks what a decided call opens: no rule may be stricter about it than the rules were about the call. Undefined: no rule
   * compares paths of such calls.
   */
  guard(call: PolicyCall, ruled: Ruled): Promise<FileGuard | undefined>
  /** The paths that a decided command may not use: its sandbox enforces it. Undefined: none. */
  refusals(call: PolicyCall, ruled: Ruled): Promise<PathRefusals | undefined>
  /** The tier of a tool, if the policy sets one. */
  tier(tool: string): Risk | undefined
  /** The calls that `always` would allow, given this one. */
  alwaysScope(call: PolicyCall): Promise<AlwaysScope | undefined>
  /** True if an earlier `always` covers this call. */
  covers(scope: AlwaysScope, call: PolicyCall): Promise<boolean>
}

/**
 * The address of a policy service. Its credentials are in `LONGHAUL_POLICY_*` variables, and are sent only to the address that
 * `LONGHAUL_POLICY_BASE_URL` names. See docs/policy-service.md for the protocol.
 */
export interface PolicyServiceOptions {
  readonly url: string
  /** `closed` (default): an outage denies the call. `open`: silence allows it; an answer that is not understood never does. */
  readonly onOutage?: "closed" | "open"
}

/** A policy service's verdict on a call, or on an output. */
export type ServiceVerdict =
  | { readonly decision: "allow"; readonly args?: JsonObject; readonly opened?: string }
  | { readonly decision: "deny" | "ask" | "block"; readonly reason: string; readonly rule?: string }

/**
 * A remote policy. Neither method rejects: a failure is a `deny` or a `block`, or an opened `allow`. `signal`: aborts when the run is
 * stopped, which then waits for no answer.
 */
export interface PolicyService {
  decide(call: PolicyCall & { readonly digest: string }, signal?: AbortSignal): Promise<ServiceVerdict>
  scan(
    call: PolicyCall & { readonly digest: string },
    output: ServiceOutput,
    signal?: AbortSignal,
  ): Promise<ServiceVerdict>
}

export interface ServiceOutput {
  readonly outcome: "ok" | "error"
  readonly text: string
  readonly durationMs?: number
}
