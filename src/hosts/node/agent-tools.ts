import { statSync } from "node:fs"
import { join, resolve } from "node:path"
import type { PersistArtifact } from "../../contract/artifacts.ts"
import type { Brand } from "../../contract/brand.ts"
import type { Environment } from "../../contract/env.ts"
import { LonghaulError, StartupError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { Policy } from "../../contract/policy.ts"
import type { Logger } from "../../contract/run.ts"
import type { Tool, ToolContext, ToolOutcome, ToolSpec } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { newNonce } from "../../lib/id.ts"
import { isJsonObject } from "../../lib/json.ts"
import { persisting } from "../../lib/persist-artifact.ts"
import { brandShape, logger, sandboxWords, texts, tool } from "../../lib/schema/contract-shapes.ts"
import { checkShape, listOf, required, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import { localPolicy } from "../../policy/local.ts"
import { policies } from "../../policy/policies.ts"
import { secretsIn } from "../../policy/redact/names.ts"
import { createRedactor, type Redactor } from "../../policy/redact/redactor.ts"
import { restrictEnvironment } from "../../policy/restrict-environment.ts"
import { redactedShell } from "../../run/calls/overflow.ts"
import { redactedTools } from "../../settings/config/secrets.ts"
import {
  bashTool,
  createDispatcher,
  createToolContext,
  type DispatchCall,
  type Dispatcher,
  fileTools,
  type KeepWhole,
  readTools,
} from "../../tools/index.ts"
import { nodeFiles } from "./files/files.ts"
import { nodePolicyHost } from "./policy/host.ts"
import { checkPolicyFile } from "./policy/read-policy.ts"
import { resolvePath } from "./policy/resolve-path.ts"
import { nodeSearch } from "./search/ripgrep.ts"
import { nodeShell } from "./shell/shell.ts"
import { withSessionFolder } from "./store/session-folder.ts"
import { defaultSpillFolder } from "./store/state-folder.ts"

export interface AgentToolsOptions {
  /** The folder that the tools work in. It must exist. */
  readonly root: string
  /** Additional folders that they may use. */
  readonly roots?: readonly string[]
  /** Only the four read-only tools. Default false. */
  readonly readOnly?: boolean
  /** False: the file tools may use every path. Bash is never confined by this: see `sandbox`. Default true. */
  readonly confine?: boolean
  readonly limits?: {
    /** Maximum bytes of one result. Default 256 KB. */
    readonly maxOutputBytes?: number
    /** Maximum characters of one result. Default 100,000. */
    readonly maxCharacters?: number
  }
  /** Sandbox for Bash: `off`, `auto` (if available) or `required`. Default `off`. */
  readonly sandbox?: "off" | "auto" | "required"
  /** The ripgrep that Grep uses. Default: from `@vscode/ripgrep`, else `rg` on PATH, else Grep's built-in search. */
  readonly ripgrepPath?: string
  /** Its `doctorCommand` is in the advice of errors. */
  readonly brand?: Partial<Brand>
  /** Saves the full text of a truncated result and returns its path. Default: it is only cut. */
  readonly persistArtifact?: PersistArtifact
  /** Additional tools. */
  readonly tools?: readonly Tool[]
  /** Decides which calls run. Nothing can pause here: a question without `onAsk` denies. Default: every call runs. */
  readonly policy?: Policy
  readonly logger?: Logger
}

/** The tools alone, for hosts with their own loop. It lists exactly the tools that it runs. */
export interface AgentTools extends AsyncDisposable {
  listTools(): readonly ToolSpec[]
  /** One of the listed tools, for hosts that show its effect and risk. */
  tool(name: string): Tool | undefined
  /** Never rejects: a failure is an outcome. */
  dispatch(call: DispatchCall, options?: CallOptions): Promise<ToolOutcome>
  /** Never rejects: a failure is a result with `isError`. Independent calls run in parallel. */
  callTool(name: string, args: Json, options?: CallOptions): Promise<{ isError: boolean; text: string }>
  /** Kills commands that still run in the background. */
  close(): Promise<void>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Where relative paths start. Default: the root. */
  readonly cwd?: string
  /** Receives progress of a running tool. */
  readonly onProgress?: (message: string) => void
}

/** Everything is resolved once and frozen; an invalid option throws a `StartupError` here. */
export function createAgentTools(options: AgentToolsOptions): AgentTools {
  startup(() => checkShape<AgentToolsOptions>("createAgentTools", options, optionsShape))
  const root = checkedRoot(options.root)
  const redactor = createRedactor({}, secretsIn(process.env))
  const env = withRedactedShell(
    startup(() => environmentOf(options, root)),
    redactor,
  )
  const ours = options.readOnly ? readTools() : [...fileTools(), bashTool()]
  const dispatcher = startup(() =>
    createDispatcher([...ours, ...(options.tools ?? [])], {
      ...options.limits,
      logger: options.logger,
      redact: redactor.text,
    }),
  )
  const keep = options.persistArtifact && persisting(options.persistArtifact)
  const close = async () => env.shell?.close()
  const dispatch: Dispatch =
    options.policy === undefined
      ? (call, context) => dispatcher.dispatch(call, context, keep)
      : startup(() => guarded(options, root, dispatcher, keep))
  const specs = redactedTools(redactor, dispatcher.listTools())
  return Object.freeze<AgentTools>({
    listTools: () => specs,
    tool: (name) => dispatcher.tool(name),
    dispatch: (call, options = {}) => dispatch(call, contextOf(env, root, redactor, options)),
    async callTool(name, args, options = {}) {
      const { status, output } = await dispatch({ name, args }, contextOf(env, root, redactor, options))
      return { isError: status !== "ok", text: plainText(output, "\n") }
    },
    close,
    [Symbol.asyncDispose]: close,
  })
}

type Dispatch = (call: DispatchCall, context: ToolContext) => Promise<ToolOutcome>

/** Runs calls under the policy: each passes it before and after. */
function guarded(
  { policy, sandbox }: AgentToolsOptions,
  root: string,
  dispatcher: Dispatcher,
  keep: KeepWhole | undefined,
): Dispatch {
  const names = dispatcher.listTools().map(({ name }) => name)
  if (typeof policy?.file === "string") checkPolicyFile(policy.file)
  const policyOf = policies(policy, nodePolicyHost, names)
  const place = { workspace: root, backend: "tools", sandboxed: sandbox === "required" }
  const riskOf = (name: string) => dispatcher.tool(name)?.risk ?? "high"
  const usesOf = (name: string) => dispatcher.tool(name)?.uses
  const decisions = localPolicy(() => policyOf([]), { ...place, riskOf, usesOf })

  /** The call as it may run; a text is the reason why it may not. */
  async function admitted(call: DispatchCall, context: ToolContext) {
    if (!isJsonObject(call.args)) return "the arguments are not an object"
    const use = { sessionId: context.runId, toolName: call.name, toolInput: call.args, cwd: context.cwd }
    const { verdict: before, ruled } = await decisions.admit(use)
    if (before.decision !== "allow") return before.reason
    const args = before.args ?? call.args
    const { rules } = await policyOf([])
    const { callId, runId, cwd } = context
    const uses = usesOf(call.name)
    const asked = { tool: call.name, args, ...(uses && { uses }), callId, runId, cwd, ...place }
    const env = await restrictEnvironment(context.env, rules, asked, ruled, resolvePath)
    return { use: { ...use, toolInput: args }, call: { ...call, args }, context: { ...context, env } }
  }

  return async (call, given) => {
    const admission = await admitted(call, given).catch((error: unknown) =>
      LonghaulError.is(error) ? error.message : "the policy failed",
    )
    if (typeof admission === "string") return refusal("denied", `${call.name} was denied: ${admission}`)
    const { use, context } = admission
    const scan = async (outcome: "ok" | "error", toolOutput: string) => {
      const after = await decisions.postTool(use, { outcome, toolOutput })
      return after.decision === "allow" ? undefined : after.reason
    }
    let blocked: string | undefined
    // A long output is scanned before it is saved and cut.
    const keepAllowed: KeepWhole = async (artifact) => {
      blocked = await scan("ok", new TextDecoder().decode(artifact.bytes))
      return blocked === undefined ? ((await keep?.(artifact)) ?? null) : null
    }
    const outcome = await dispatcher.dispatch(admission.call, context, keepAllowed)
    blocked ??= await scan(outcome.status === "ok" ? "ok" : "error", plainText(outcome.output, "\n"))
    if (blocked === undefined) return outcome
    return refusal("error", `${call.name} ran, but its output was withheld: ${blocked}`)
  }
}

function refusal(status: "denied" | "error", text: string): ToolOutcome {
  return { status, output: [{ type: "text", text }] }
}

const optionsShape: Shape<AgentToolsOptions> = {
  root: required("text"),
  roots: texts,
  readOnly: "boolean",
  confine: "boolean",
  limits: shapeOf<NonNullable<AgentToolsOptions["limits"]>>({ maxOutputBytes: "number", maxCharacters: "number" }),
  sandbox: sandboxWords,
  ripgrepPath: "text",
  brand: shapeOf<Partial<Brand>>(brandShape),
  persistArtifact: "function",
  tools: listOf(tool),
  policy: "object",
  logger,
}

function environmentOf(options: AgentToolsOptions, root: string) {
  const { roots = [], confine = true, readOnly, sandbox = "off", ripgrepPath, brand } = options
  const allowed = confine ? [root, ...roots] : [root, "/"]
  const named = { ...(ripgrepPath !== undefined && { ripgrepPath }), ...(brand && { brand }) }
  const search = nodeSearch({ roots: [], readOnlyRoots: allowed, ...named })
  if (readOnly) return Object.freeze<Environment>({ files: nodeFiles({ roots: [], readOnlyRoots: allowed }), search })
  const env = { files: nodeFiles({ roots: allowed }), search, shell: nodeShell({ root, sandbox }) }
  return Object.freeze(withSessionFolder(env, join(defaultSpillFolder(), newNonce())))
}

function withRedactedShell(env: Environment, redactor: Redactor): Environment {
  return env.shell ? Object.freeze({ ...env, shell: redactedShell(env.shell, redactor) }) : env
}

function contextOf(
  env: Environment,
  root: string,
  { cut }: Redactor,
  { signal, cwd = root, onProgress }: CallOptions,
): ToolContext {
  return {
    ...createToolContext({ cwd, env, signal, onProgress }),
    redact: cut,
  }
}

function checkedRoot(root: unknown): string {
  if (typeof root !== "string" || root === "") {
    throw new StartupError("The tools have no folder to work in.", { fix: "Pass `root`." })
  }
  const path = resolve(root)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path
  throw new StartupError(`The folder ${JSON.stringify(root)} does not exist.`, {
    fix: "Create it, or name an existing folder as `root`.",
  })
}

function startup<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (!LonghaulError.is(error) || error instanceof StartupError) throw error
    throw new StartupError(error.message, { fix: error.fix ?? "Check the options.", cause: error })
  }
}
