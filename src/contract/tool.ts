import type { ContentPart } from "./content.ts"
import type { Environment } from "./env.ts"
import type { Json, JsonObject, JsonSchema } from "./json.ts"

/**
 * Whether a tool call may be repeated. `none`: yes, it changes nothing. `repeatable`: yes, if no other process can
 * still be running it. `once`: it must never be repeated silently.
 */
export type Effect = "none" | "repeatable" | "once"
/** `tell`: the model is informed that the outcome is unknown. `pause`: a person decides. */
export type UnknownOutcome = "tell" | "pause"
export type Risk = "low" | "medium" | "high"

/** The capabilities of a call: the words of rules for it. */
export type Capability = "read" | "write" | "exec" | "fetch"

/**
 * What one call uses: the paths that it reads and writes, the command lines that it runs, the URLs that it fetches. Undefined in a
 * list: there is one, but the arguments do not show which.
 */
export interface Uses extends Readonly<Partial<Record<Capability, readonly (string | undefined)[]>>> {
  /** It also reads what is below its paths. */
  readonly below?: boolean
}

/**
 * Determines what a call uses, from arguments that were not validated. Without any arguments it returns every capability that a call can
 * have.
 */
export type UsesOf = (args: Json) => Uses | Promise<Uses>

/** The part of a tool that a model sees. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** A complete tool: `defineTool` fills in omitted fields. */
export interface Tool extends ToolSpec {
  /** Its name in policies, if it is another one: `mcp:<server>/<tool>`. */
  readonly policyName?: string
  /** The use of its calls, for the rules of policies. Absent: unknown, so that refusals apply and permissions do not. */
  readonly uses?: UsesOf
  readonly effect: Effect
  /**
   * Present if the effect depends on the arguments: that of one call. `effect` is then the strictest one, no call is started
   * early, and calls without an effect may run in parallel with others.
   */
  readonly effectOf?: (args: Json) => Effect
  /** May run in parallel with others of the same step. */
  readonly concurrent: boolean
  readonly risk: Risk
  /** Maximum bytes of text in its result; absent: the dispatcher's limit. */
  readonly maxOutputBytes?: number
  /** It limits its own text: the dispatcher does not cut it again. */
  readonly bounded?: boolean
  /** The treatment of a call whose process died before its outcome was recorded. Absent: the run's setting. */
  readonly unknownOutcome?: UnknownOutcome
  /**
   * Present if a person answers the call: returns the question, and `run` is not called. The run pauses for the answer.
   */
  readonly question?: (args: Json) => string
  /**
   * Present if it calls other tools: the tool of a call. Policies, approvals and hooks see that one, its schema checks the
   * arguments before anyone is asked, and the call has its effect, its limits, its `question` and its `resume`. May return itself, with more arguments for the policy. May throw
   * a `ToolError`.
   */
  readonly inner?: (args: Json) => InnerCall
  /** Present if the author passed a Standard Schema: validates and transforms; absent: `inputSchema` decides. */
  readonly validate?: (args: Json) => Promise<ToolInput>
  run(args: unknown, context: ToolContext): unknown
  /**
   * Resumes a call that an earlier process began and did not finish, also if that process may be alive. Absent: its outcome
   * is unknown, unless the effect allows a repetition.
   */
  readonly resume?: (args: unknown, context: ToolContext) => unknown
}

/** A call that is made through another tool. */
export interface InnerCall {
  readonly tool: Tool
  readonly args: Json
  /** The arguments of the outer call with other arguments of the inner one. */
  outer(args: Json): Json
}

/** Validated arguments, or every reason why they are invalid. */
export type ToolInput =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly issues: readonly string[] }

/** The context of a running tool. */
export interface ToolContext {
  /** Aborted when the run is cancelled, timed out or fenced. */
  readonly signal: AbortSignal
  /** The same for every attempt at this call: pass it to systems that deduplicate by key. */
  readonly idempotencyKey: string
  /** The tenant: the `workspaceId` of the runtime. */
  readonly workspaceId: string
  readonly runId: string
  /** Names the run among those of all workspaces and stores: the key of what a tool keeps per run, also as a relative path. */
  readonly runScope: string
  /** The `metadata` of the run. */
  readonly metadata?: JsonObject
  readonly callId: string
  /** The path of the agent below the run that makes the call. */
  readonly agent?: string
  readonly cwd: string
  readonly env: Environment
  /** Reports progress; ephemeral, never journalled. */
  progress(message: string): void
  /**
   * Masks the secrets in a text. Results are masked anyway, but a tool that shortens its output must do this before: part of a
   * secret is not recognised.
   */
  readonly redact?: (text: string) => string
  /**
   * Runs an agent below the current one and resolves to its answer, as a text for the model; one agent per call. In `resume` it
   * resumes the agent that the call started before. Rejects with a `ToolError` if the agent fails. Absent: agents are off here.
   */
  readonly spawn?: (request: AgentRequest) => Promise<string>
  /** Sends a text to an agent that this one started, or to the one that started it (`parent`). Absent: agents are off. */
  readonly send?: (to: string, text: string) => Promise<void>
  /**
   * Asks a person, and ends this attempt at the call: it always rejects, and what the tool returns afterwards is ignored. The run
   * pauses for as long as it takes. With the answer, `run` is called again, in any process, and gets `answered`. Call it before
   * the effect: the answered call counts as one that has not happened. `state`: comes back with the answer, at most 256 KB of
   * JSON; people do not see it. At most 10 questions per call. Absent: no one can be asked.
   */
  readonly ask?: (question: string, state: Json) => Promise<never>
  /** Present if the call continues after its question. */
  readonly answered?: Answered
}

/** How a person answered the question of a call, and what its tool kept for that. */
export interface Answered {
  /** `approve`: yes, without a text. `deny`: the person does not answer; `text` may say why. */
  readonly decision: "answer" | "approve" | "deny"
  readonly text?: string
  readonly state: Json
}

/** A task for an agent. */
export interface AgentRequest {
  /** A few words for people. */
  readonly description: string
  /** All that the agent gets to know. */
  readonly prompt: string
  /** The name of its type. */
  readonly agent?: string
  /** The schema of its answer. */
  readonly schema?: JsonSchema
  /** Resolves as soon as the agent is recorded; its answer reaches the model that started it as a message. */
  readonly background?: boolean
}

export type ToolStatus = "ok" | "error" | "denied" | "unknown"

export interface ToolOutcome {
  readonly status: ToolStatus
  readonly output: readonly ContentPart[]
}

/** Error codes of tools, for the model rather than the host. */
export type ToolErrorCode =
  | "not_found"
  | "invalid_input"
  | "denied"
  | "conflict"
  | "timeout"
  | "aborted"
  | "io"
  /** It may or may not have taken effect. */
  | "outcome_unknown"
  | "internal"

/** Thrown by a tool to inform the model; anything else a tool throws reaches the model as `internal` only. */
export class ToolError extends Error {
  override readonly name = "ToolError"
  readonly code: ToolErrorCode

  constructor(code: ToolErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}
