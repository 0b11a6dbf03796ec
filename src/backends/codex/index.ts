import type { Backend } from "../../contract/backend.ts"
import type { BackendEnv, Loopback, ProgramSpec } from "../../contract/backend-env.ts"
import type { Capabilities, Probe } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import { texts, textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkShape, type Shape, words } from "../../lib/schema/shape.ts"
import { workspaceFolders } from "../shared/workspace-folders.ts"
import { ownTools, shellCommand } from "./calls.ts"
import { type Connection, checkLogin, connect, connectGated, type Handlers, type TrustMemory } from "./connection.ts"
import { openSession } from "./session.ts"
import { GATE_VARIABLE, type HookState, settingArguments, withoutGit } from "./settings.ts"

export interface CodexOptions {
  /** The program. Default: `codex` on the PATH. */
  readonly command?: string
  /** Its arguments, before the settings that this backend adds. Default: `app-server`. */
  readonly args?: readonly string[]
  /** Variables for the program. */
  readonly env?: Readonly<Record<string, string>>
  /** Variables of this process that it gets, too. Default: Codex's own keys and folder. */
  readonly passEnv?: readonly string[]
  /** Codex's settings, as in its config.toml: `{ model_provider: "azure", … }`. They precede those of the file. */
  readonly config?: JsonObject
  /** Codex's own sandbox for commands and patches. Default `workspace-write`. */
  readonly sandbox?: "read-only" | "workspace-write" | "danger-full-access"
  /** Keeps its login, settings and sessions apart from the user's. Default false. */
  readonly isolated?: boolean
}

const optionsShape: Shape<CodexOptions> = {
  command: "text",
  args: texts,
  env: textsByName,
  passEnv: texts,
  config: "object",
  sandbox: words("read-only", "workspace-write", "danger-full-access"),
  isolated: "boolean",
}

/** OpenAI's Codex, driven as an app-server. */
export function codex(options: CodexOptions = {}): Backend {
  checkShape<CodexOptions>("codex", options, optionsShape)
  const memory: TrustMemory = {}
  const start = async (env: BackendEnv, run: StartedFor, handlers: Handlers, trusted?: HookState) => {
    const folders = await workspaceFolders(run.cwd, env)
    return connect(env, programOf(options, env, run, { folders, trusted }), handlers)
  }
  return {
    name: "codex",
    capabilities,
    probe: (env) => probe((run, handlers) => start(env, run, handlers)),
    open: (request, env) =>
      openSession(request, env, {
        sandbox: options.sandbox ?? "workspace-write",
        async connect(loopback, handlers) {
          const { runId, cwd, withoutTools } = request
          const connection = await connectGated(
            (trusted) => start(env, { runId, cwd, withoutTools, loopback }, handlers, trusted),
            cwd,
            memory,
          )
          await checkHome(connection, options, env)
          return connection
        },
      }),
  }
}

interface StartedFor {
  readonly runId: string
  readonly cwd: string
  readonly withoutTools: readonly string[]
  readonly loopback?: Loopback
}

const capabilities: Capabilities = {
  provider: "openai",
  features: [
    ...(["streaming", "tools", "parallel_tools", "vision", "code_execution", "file_access"] as const),
    ...(["interrupt", "structured_output", "mcp"] as const),
  ],
  models: "own",
  mcpServers: "own",
  history: "messages",
  resume: "session",
  suspend: { ours: "settle", own: "settle" },
  steer: "turn",
  structured: "vendor",
  metering: "call",
  tells: ["subagents", "compaction"],
  reportsCost: false,
  ownTools,
  removesTools: true,
  enforcement: [
    // Runs at the provider. It is off, unless the caller's settings turn it on.
    { tools: "WebSearch", gate: "none", rewrite: false, failsClosed: false, exactArguments: false, ledger: "result" },
    // Codex has no second question about an image.
    { tools: "Read", gate: "ours", rewrite: true, failsClosed: false, exactArguments: true, ledger: "intent" },
    { tools: "*", gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" },
  ],
  edge: false,
  contextTokens: 272_000,
  outputTokens: 128_000,
  usdPer1k: { input: 0.00125, output: 0.01 },
  latencyMs: 2000,
  coldStartMs: 1500,
}

async function probe(start: (run: StartedFor, handlers: Handlers) => Promise<Connection>): Promise<Probe> {
  let connection: Connection | undefined
  try {
    connection = await start(
      { runId: "probe", cwd: "/", withoutTools: [] },
      { onNotification: () => {}, onRequest: () => undefined },
    )
    await checkLogin(connection)
    return { found: true, version: connection.version, login: "yes" }
  } catch (error) {
    const failure = LonghaulError.is(error)
      ? error
      : new LonghaulError("backend_crashed", "Codex could not be checked.", { cause: error })
    const { code } = failure
    const found = code !== "backend_missing" && code !== "capability_mismatch"
    const version = connection && { version: connection.version }
    return { found, ...version, login: code === "auth" ? "no" : "unknown", failure: failure.toJSON() }
  } finally {
    connection?.channel.endInput()
    await connection?.channel.end("ask")
  }
}

interface StartedWith {
  readonly folders: readonly string[]
  readonly trusted: HookState | undefined
}

function programOf(
  options: CodexOptions,
  env: BackendEnv,
  run: StartedFor,
  { folders, trusted }: StartedWith,
): ProgramSpec {
  const { command = "codex", args = ["app-server"], passEnv = usualVariables, config = {}, isolated } = options
  const { runId, cwd, withoutTools, loopback } = run
  return {
    command,
    args: [...args, ...settingArguments(config, { folders, withoutTools }, trusted)],
    cwd,
    runId,
    passEnv,
    env: {
      ...(isolated && env.stateFolder && { CODEX_HOME: env.stateFolder("codex") }),
      ...options.env,
      ...withoutGit,
      [GATE_VARIABLE]: loopback ? shellCommand(loopback.gate) : "exit 2",
    },
    install: "npm install -g @openai/codex",
  }
}

/** Codex does not install the helper of its sandbox there, and then no command can run. */
async function checkHome({ home, channel }: Connection, options: CodexOptions, env: BackendEnv): Promise<void> {
  const temporary = options.env?.TMPDIR ?? env.variable?.("TMPDIR") ?? "/tmp"
  if (!home.startsWith(`${temporary.replace(/\/+$/, "")}/`)) return
  await channel.end("kill")
  throw new LonghaulError("config_invalid", `Codex cannot run commands: its folder ${home} is in a temporary folder.`, {
    fix: `Move CODEX_HOME out of ${temporary}.`,
  })
}

const usualVariables: readonly string[] = [
  "CODEX_HOME",
  "CODEX_API_KEY",
  "OPENAI_API_KEY",
  ...["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "all_proxy", "no_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "CODEX_CA_CERTIFICATE"],
]
