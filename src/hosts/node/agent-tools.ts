import { statSync } from "node:fs"
import { join, resolve } from "node:path"
import type { PersistArtifact } from "../../contract/artifacts.ts"
import type { Environment } from "../../contract/env.ts"
import { LonghaulError, StartupError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { Brand, Logger } from "../../contract/run.ts"
import type { Tool, ToolContext, ToolOutcome, ToolSpec } from "../../contract/tool.ts"
import { newNonce } from "../../lib/id.ts"
import { checkKeys, keys } from "../../lib/known-keys.ts"
import { persisting } from "../../lib/persist-artifact.ts"
import { secretsIn } from "../../lib/secrets.ts"
import { bashTool, createDispatcher, type DispatchCall, fileTools, readTools } from "../../tools/index.ts"
import { nodeFiles } from "./files/files.ts"
import { nodeSearch } from "./search/ripgrep.ts"
import { nodeShell } from "./shell/shell.ts"
import { withSessionFolder } from "./store/session-folder.ts"
import { defaultSpillFolder } from "./store/state-folder.ts"

export interface AgentToolsOptions {
  /** The folder the tools work in. It must exist. */
  readonly root: string
  /** Further folders that they may use. */
  readonly roots?: readonly string[]
  /** Only the four tools that change nothing. Default false. */
  readonly readOnly?: boolean
  /** False: the file tools may use every path. Bash is never confined by this: see `sandbox`. Default true. */
  readonly confine?: boolean
  readonly limits?: {
    /** The most bytes of one result. Default 256 KB. */
    readonly maxOutputBytes?: number
    /** The most characters of one result. Default 100,000. */
    readonly maxCharacters?: number
  }
  /** What Bash runs in: nothing, a sandbox where there is one, or a sandbox or not at all. Default `off`. */
  readonly sandbox?: "off" | "auto" | "required"
  /** The ripgrep that Grep uses. Default: that of `@vscode/ripgrep`, else `rg` on PATH, else Grep's own search. */
  readonly ripgrepPath?: string
  /** Its `doctorCommand` is in the advice of errors. */
  readonly brand?: Partial<Brand>
  /** Keeps the whole of a result that is too long, and says where. Default: it is cut. */
  readonly persistArtifact?: PersistArtifact
  /** Further tools, beside ours. */
  readonly tools?: readonly Tool[]
  readonly logger?: Logger
}

/** The tools alone, for hosts with a loop of their own. What it lists is exactly what it runs. */
export interface AgentTools extends AsyncDisposable {
  listTools(): readonly ToolSpec[]
  /** One of those that it lists, for hosts that show its effect and its risk. */
  tool(name: string): Tool | undefined
  /** Never rejects: whatever goes wrong is an outcome. */
  dispatch(call: DispatchCall, options?: CallOptions): Promise<ToolOutcome>
  /** Never rejects: whatever goes wrong is a result with `isError`. Independent calls run side by side. */
  callTool(name: string, args: Json, options?: CallOptions): Promise<{ isError: boolean; text: string }>
  /** Ends what commands still run in the background. */
  close(): Promise<void>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Where relative paths start. Default: the root. */
  readonly cwd?: string
  /** Hears what a tool says while it works. */
  readonly onProgress?: (message: string) => void
}

/** Everything is resolved once and frozen; what cannot work throws a `StartupError` here. */
export function createAgentTools(options: AgentToolsOptions): AgentTools {
  startup(() => checkOptions(options))
  const root = checkedRoot(options.root)
  const env = startup(() => environmentOf(options, root))
  const ours = options.readOnly ? readTools() : [...fileTools(), bashTool()]
  const dispatcher = startup(() =>
    createDispatcher([...ours, ...(options.tools ?? [])], {
      ...options.limits,
      ...(options.logger && { logger: options.logger }),
      secrets: () => secretsIn(process.env),
    }),
  )
  const keep = options.persistArtifact && persisting(options.persistArtifact)
  const close = async () => env.shell?.close()
  return Object.freeze<AgentTools>({
    listTools: () => dispatcher.listTools(),
    tool: (name) => dispatcher.tool(name),
    dispatch: (call, options = {}) => dispatcher.dispatch(call, contextOf(env, root, options), keep),
    callTool: (name, args, call = {}) => dispatcher.callTool(name, args, contextOf(env, root, call), keep),
    close,
    [Symbol.asyncDispose]: close,
  })
}

function checkOptions(options: AgentToolsOptions): void {
  checkKeys("createAgentTools", options, optionKeys)
  if (options.limits !== undefined) checkKeys("limits", options.limits, limitKeys)
}

const limitKeys = keys<NonNullable<AgentToolsOptions["limits"]>>()("maxOutputBytes", "maxCharacters")
const optionKeys = keys<AgentToolsOptions>()(
  "root",
  "roots",
  "readOnly",
  "confine",
  "limits",
  "sandbox",
  "ripgrepPath",
  "brand",
  "persistArtifact",
  "tools",
  "logger",
)

function environmentOf(options: AgentToolsOptions, root: string) {
  const { roots = [], confine = true, readOnly, sandbox = "off", ripgrepPath, brand } = options
  const allowed = confine ? [root, ...roots] : [root, "/"]
  const named = { ...(ripgrepPath !== undefined && { ripgrepPath }), ...(brand && { brand }) }
  const search = nodeSearch({ roots: [], readOnlyRoots: allowed, ...named })
  if (readOnly) return Object.freeze<Environment>({ files: nodeFiles({ roots: [], readOnlyRoots: allowed }), search })
  const env = { files: nodeFiles({ roots: allowed }), search, shell: nodeShell({ root, sandbox }) }
  return Object.freeze(withSessionFolder(env, join(defaultSpillFolder(), newNonce())))
}

function contextOf(env: Environment, root: string, { signal, cwd, onProgress }: CallOptions): ToolContext {
  const callId = newNonce()
  return {
    signal: signal ?? neverAborted,
    idempotencyKey: callId,
    runId: "none",
    callId,
    cwd: cwd ?? root,
    env,
    progress: onProgress ?? (() => {}),
  }
}

const neverAborted = new AbortController().signal

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
