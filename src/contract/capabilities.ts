import type { Failure } from "./error.ts"
import type { ResumeBy } from "./session.ts"
import type { Effect, Risk, UsesOf } from "./tool.ts"

/** The features of a backend, declared without touching the machine. */
export interface Capabilities {
  /** Whose models it uses, such as `anthropic`; `any` if it depends on the model. */
  readonly provider: string
  readonly features: readonly Feature[]
  /** `value`: it needs a `Model`. `own`: it takes the vendor's name of a model, or none. */
  readonly models: "value" | "own"
  /** How a conversation from the journal is passed to it. */
  readonly history: "messages" | "brief"
  /** `session`: it stores sessions, which another process can open. `history`: its sessions end with the process. */
  readonly resume: "session" | "history"
  /** How a suspended call continues: one of the runtime's tools, and one of its own. */
  readonly suspend: { readonly ours: ResumeBy; readonly own: ResumeBy }
  /** `turn`: a person's message reaches the model within its work. `next`: only after its answer. */
  readonly steer: "turn" | "next"
  /** `vendor`: the vendor enforces an output schema. `text`: the model gets the schema as text, and its answer is validated. */
  readonly structured: "vendor" | "text"
  /** When usage is known: with `end` or `none`, tokens and dollars cannot be limited. */
  readonly metering: "call" | "turn" | "end" | "none"
  /** It repeats failed requests to its model itself. Absent: the runtime repeats the turn. */
  readonly retries?: true
  /** The reports of its own work, where the runtime does not do it. Results have null for what is missing here. */
  readonly tells?: readonly Told[]
  /** It reports dollars. False: the runtime computes them from its price table. */
  readonly reportsCost: boolean
  /** It connects to MCP servers itself. Absent: the runtime does, and offers their tools to it. */
  readonly mcpServers?: "own"
  /** The tools that it runs itself. */
  readonly ownTools: readonly OwnTool[]
  /** It can start without some of them. Absent: `authorize` alone keeps a run from using them. */
  readonly removesTools?: true
  /** How far the policy reaches, tool by tool. The first entry that matches a name applies. */
  readonly enforcement: readonly ToolEnforcement[]
  /** Works without processes, for example in a worker. Others are watched for signs of life. */
  readonly edge: boolean
  readonly contextTokens: number
  readonly outputTokens: number
  /** Dollars per thousand tokens, to compare backends. */
  readonly usdPer1k: { readonly input: number; readonly output: number }
  /** Typical times to the first token and to the start of the program, until they were measured. */
  readonly latencyMs: number
  readonly coldStartMs: number
}

/** `subagents`: that it starts some. `compaction`: that it shortens its conversation. */
export type Told = "subagents" | "compaction"

/** Features that a caller can require. */
export type Feature =
  | "streaming"
  | "tools"
  | "parallel_tools"
  | "vision"
  | "audio"
  | "code_execution"
  | "file_access"
  | "web_access"
  | "interrupt"
  | "structured_output"
  | "mcp"

/** A tool that a backend runs itself. */
export interface OwnTool {
  /** As in policies: `Bash`, `Write`, or `mcp:<server>/<tool>`. */
  readonly name: string
  /** As the vendor calls it. */
  readonly nativeName: string
  /** The use of its calls. Absent: as the runtime's tool of that name. */
  readonly uses?: UsesOf
  readonly effect: Effect
  readonly risk: Risk
}

/** How far the policy reaches for some tools of a backend. */
export interface ToolEnforcement {
  /** A name as in policies, or `*`. */
  readonly tools: string
  /** Who decides before a call runs: this runtime, the vendor's own mode, or no one. */
  readonly gate: "ours" | "vendor" | "none"
  /** The policy can change arguments. */
  readonly rewrite: boolean
  /** A decision that is lost or late runs nothing. */
  readonly failsClosed: boolean
  /** The policy sees the arguments that run. */
  readonly exactArguments: boolean
  /** `intent`: recorded before it runs, and its result after. `result`: only the result. `unseen`: neither. */
  readonly ledger: "intent" | "result" | "unseen"
}

export interface Probe {
  readonly found: boolean
  readonly version?: string
  readonly login: "yes" | "no" | "unknown"
  /** Why it cannot be used. */
  readonly failure?: Failure
}
