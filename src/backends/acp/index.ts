import type { Backend } from "../../contract/backend.ts"
import type { BackendEnv, ProgramSpec } from "../../contract/backend-env.ts"
import type { Capabilities, Probe } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import { texts, textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkShape, required } from "../../lib/schema/shape.ts"
import { type AcpAgent, type Confinement, cursorAgent, unknownAgent } from "./agents.ts"
import { type Connection, connect } from "./connection.ts"
import { copilotAgent } from "./copilot.ts"
import { geminiAgent } from "./gemini.ts"
import { opencodeAgent } from "./opencode.ts"
import { modelName } from "./opening.ts"
import { openSession } from "./session.ts"
import { guardVariables, trustedVariables } from "./trust.ts"

export interface AcpOptions {
  /** A known agent: `gemini`, `copilot`, `opencode`, `cursor`. Any other name needs a command. */
  readonly name: string
  /** The program. Default: that of the known agent, from PATH. */
  readonly command?: string
  /** Its arguments, which make it speak the protocol. Default: those of the known agent. */
  readonly args?: readonly string[]
  /** Variables of this process that it gets, in addition to those with the login of the known agent. */
  readonly passEnv?: readonly string[]
  /** Variables that it gets with these values. */
  readonly env?: Readonly<Record<string, string>>
  /** Lets the agent use settings, hooks and plugins of the workspace, which bypass the policy. Default false. */
  readonly trustWorkspace?: boolean
}

/** An agent that speaks the Agent Client Protocol, with its existing login. */
export function acp(options: AcpOptions): Backend {
  checkShape<AcpOptions>("acp", options, {
    name: required("text"),
    args: texts,
    trustWorkspace: "boolean",
    command: "text",
    passEnv: texts,
    env: textsByName,
  })
  const agent = agentOf(options)
  const name = `acp:${agent.name}`
  return {
    name,
    capabilities: capabilitiesOf(agent),
    // In a folder whose files say nothing: it belongs to no run.
    probe: (env) => probe(agent, env, () => programOf(agent, options, { runId: "probe", cwd: "/" })),
    async open(request, env) {
      const { runId, cwd, withoutTools } = request
      const plain = programOf(agent, options, { runId, cwd, model: modelName(request) })
      const given = (variable: string) => options.env?.[variable] ?? env.variable?.(variable)
      const guards = options.trustWorkspace ? trustedVariables(agent) : await guardVariables(agent, request, env, given)
      const confined = await confinement(agent, agent.confine?.(withoutTools, given), env)
      const program = {
        ...plain,
        args: [...plain.args, ...confined.args],
        env: { ...(await defaultSettings(agent, options, env)), ...plain.env, ...confined.env, ...guards },
      }
      return openSession(request, env, {
        ...{ backend: name, agent },
        connect: (handlers) => connect(agent, env, program, handlers),
      })
    },
  }
}

const knownAgents: readonly AcpAgent[] = [geminiAgent, copilotAgent, opencodeAgent, cursorAgent]

/** The agents that are known by name. */
export const acpAgents: readonly string[] = knownAgents.map(({ name }) => name)

function agentOf({ name, command, args = [] }: AcpOptions): AcpAgent {
  const known = knownAgents.find((agent) => agent.name === name)
  if (known) return known
  if (command !== undefined && /^[\w.-]+$/.test(name)) return unknownAgent(name, command, args)
  throw new LonghaulError("config_invalid", `Unknown ACP agent ${JSON.stringify(String(name).slice(0, 80))}.`, {
    fix: `Use ${acpAgents.join(", ")}, or pass a name of letters and digits and the command that starts the agent.`,
  })
}

interface StartedFor {
  readonly runId: string
  readonly cwd: string
  readonly model?: string | undefined
}

function programOf(agent: AcpAgent, options: AcpOptions, run: StartedFor): ProgramSpec {
  const { command = agent.command, args = agent.args, passEnv = [], env } = options
  const { runId, cwd, model } = run
  return {
    command,
    args: model === undefined ? args : [...args, ...(agent.modelArgs?.(model) ?? [])],
    ...{ cwd, runId },
    passEnv: [...agent.passEnv, ...proxyVariables, ...passEnv],
    env: { ...env, ...agent.env },
    install: agent.install,
  }
}

/** The arguments and variables that confine an agent. Its file must be there: without it the agent would not ask. */
async function confinement({ title }: AcpAgent, { args = [], env = {}, file }: Confinement = {}, host: BackendEnv) {
  if (file === undefined) return { args, env }
  const path = await host.stateFile?.(file.name, file.text)
  if (path !== undefined) return { args: [...args, path], env }
  throw new LonghaulError("capability_mismatch", `${title} needs a host with files.`, {
    fix: "Use the runtime of longhaul/node.",
  })
}

/** The variable that names the agent's settings of lowest precedence, unless there are such settings. */
async function defaultSettings(
  { name, defaults }: AcpAgent,
  { env }: AcpOptions,
  host: BackendEnv,
): Promise<Readonly<Record<string, string>>> {
  if (defaults === undefined || !host.stateFile || !host.exists) return {}
  const given = (variable: string) => env?.[variable] ?? host.variable?.(variable)
  if (given(defaults.variable)) return {}
  for (const path of defaults.replaces(given)) if (await host.exists(path)) return {}
  // Without them the agent works as well, only its failures come later.
  const path = await host.stateFile(`${name}-defaults.json`, defaults.text).catch(() => undefined)
  return path === undefined ? {} : { [defaults.variable]: path }
}

async function probe(agent: AcpAgent, env: BackendEnv, program: () => ProgramSpec): Promise<Probe> {
  let connection: Connection | undefined
  try {
    connection = await connect(agent, env, program(), { onNotification: () => {}, onRequest: () => undefined })
    // The protocol reports whether there is a login only when a session is opened.
    return { found: true, version: connection.facts.version, login: "unknown" }
  } catch (error) {
    const failure = LonghaulError.is(error)
      ? error
      : new LonghaulError("backend_crashed", `${agent.title} could not be checked.`, { cause: error })
    const found = failure.code !== "backend_missing" && failure.code !== "capability_mismatch"
    return { found, login: "unknown", failure: failure.toJSON() }
  } finally {
    await connection?.channel.end("ask")
  }
}

function capabilitiesOf({
  provider,
  naming,
  enforcement,
  reportsCost,
  metering,
  retries,
  confine,
}: AcpAgent): Capabilities {
  const known = new Map(naming.known.map((tool) => [tool.name, tool]))
  return {
    provider,
    features: [
      ...(["streaming", "tools", "parallel_tools", "vision", "code_execution", "file_access", "web_access"] as const),
      ...(["interrupt", "structured_output", "mcp"] as const),
    ],
    models: "own",
    mcpServers: "own",
    history: "brief",
    resume: "session",
    suspend: { ours: "settle", own: "repeat" },
    steer: "next",
    structured: "text",
    metering,
    ...(retries && { retries }),
    // The protocol cannot report a shortened conversation.
    tells: known.has("Task") ? ["subagents"] : [],
    reportsCost,
    ownTools: [...known.values()],
    ...(confine && { removesTools: true }),
    enforcement,
    edge: false,
    contextTokens: 128_000,
    outputTokens: 8192,
    usdPer1k: { input: 0.002, output: 0.01 },
    latencyMs: 2000,
    coldStartMs: 4000,
  }
}

const proxyVariables: readonly string[] = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS"],
]
