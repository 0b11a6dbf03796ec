import type { Backend } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import { texts as textList, textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkShape, having, required } from "../../lib/schema/shape.ts"
import { capabilities } from "../claude/capabilities.ts"
import {
  type ClaudeOptions,
  effortLevel,
  modelName,
  programSpec,
  settings,
  spawnOf,
  turnsLeft,
} from "../claude/launch.ts"
import { type Launch, openClaude } from "../claude/session.ts"
import { toolNames } from "../claude/tools.ts"
import { startQuery } from "./program.ts"
import { type ClaudeAgentSdk, INSTALL } from "./sdk.ts"

export type { ClaudeAgentSdk } from "./sdk.ts"

export interface ClaudeSdkOptions extends ClaudeOptions {
  /** The package `@anthropic-ai/claude-agent-sdk`, where it cannot be imported from here. */
  readonly sdk?: ClaudeAgentSdk
}

/** Claude Code through its Agent SDK, an optional package that is loaded on first use. */
export function claudeSdk(options: ClaudeSdkOptions = {}): Backend {
  checkShape<ClaudeSdkOptions>("claudeSdk", options, {
    command: "text",
    passEnv: textList,
    env: textsByName,
    sdk: having({ query: required("function") }),
  })
  return {
    name: "claude-sdk",
    capabilities,
    async probe() {
      try {
        await load(options)
        return { found: true, login: "unknown" }
      } catch (error) {
        return { found: false, login: "unknown", failure: missing(error).toJSON() }
      }
    },
    open: (request, env) =>
      openClaude("claude-sdk", request, env, async (launch) => {
        const sdk = await load(options)
        const spec = programSpec(options, launch)
        const spawn = spawnOf(env)
        return startQuery({
          sdk,
          deadlines: env.deadlines,
          options: { ...queryOptions(launch), ...executable(options), cwd: spec.cwd, env: spec.env },
          spawn: ({ command, args, env: given }) =>
            spawn({ ...spec, install: INSTALL, command, args, env: texts(given) }),
        })
      }),
  }
}

function queryOptions(launch: Launch) {
  const { request, sessionId, isResumed, mcp } = launch
  const { system, outputSchema } = request
  const { effort } = request.settings
  const model = modelName(launch)
  return {
    // Otherwise a resumed program presents its pending call before it has the hook.
    extraArgs: { "await-initialize": null },
    settingSources: [],
    settings: JSON.stringify(settings),
    tools: toolNames(request),
    mcpServers: mcp.servers,
    strictMcpConfig: true,
    includePartialMessages: true,
    permissionMode: "default",
    systemPrompt: { type: "preset", preset: "claude_code", ...(system !== undefined && { append: system }) },
    ...(isResumed ? { resume: sessionId } : { sessionId }),
    maxTurns: turnsLeft(launch),
    ...(model !== undefined && { model }),
    ...(effort !== undefined && { effort: effortLevel(effort) }),
    ...(outputSchema !== undefined && { outputFormat: { type: "json_schema", schema: outputSchema } }),
  }
}

function executable({ command }: ClaudeSdkOptions) {
  return command === undefined ? {} : { pathToClaudeCodeExecutable: command }
}

async function load({ sdk }: ClaudeSdkOptions): Promise<ClaudeAgentSdk> {
  if (sdk) return sdk
  try {
    // Not a literal: the package is optional, and its types are not needed.
    const name: string = "@anthropic-ai/claude-agent-sdk"
    return (await import(name)) as ClaudeAgentSdk // Safe: the package of that name has this function.
  } catch (error) {
    throw missing(error)
  }
}

function missing(cause: unknown): LonghaulError {
  return new LonghaulError("backend_missing", "The package @anthropic-ai/claude-agent-sdk is not installed.", {
    fix: `Install it: ${INSTALL}`,
    cause,
  })
}

function texts(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])))
}
