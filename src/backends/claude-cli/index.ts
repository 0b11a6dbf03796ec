import type { Backend, OpenRequest } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import type { JsonObject } from "../../contract/json.ts"
import { texts, textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkShape } from "../../lib/schema/shape.ts"
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
import { probeClaude } from "../claude/probe.ts"
import { type Launch, openClaude } from "../claude/session.ts"
import { toolNames } from "../claude/tools.ts"
import { ControlProtocol } from "./protocol.ts"

export type ClaudeCliOptions = ClaudeOptions

/** Claude Code as a program, with the login that it has. */
export function claudeCli(options: ClaudeCliOptions = {}): Backend {
  checkShape<ClaudeCliOptions>("claudeCli", options, { command: "text", passEnv: texts, env: textsByName })
  return {
    name: "claude-cli",
    capabilities,
    probe: (env) => probeClaude(options, env),
    open: (request: OpenRequest, env: BackendEnv) =>
      openClaude("claude-cli", request, env, async (launch) => {
        const channel = await spawnOf(env)({ ...programSpec(options, launch), args: argumentsOf(launch) })
        const protocol = new ControlProtocol(channel, env.deadlines)
        try {
          return await protocol.open(optionsOf(launch))
        } catch (error) {
          await channel.end("kill")
          throw error
        }
      }),
  }
}

function argumentsOf(launch: Launch): readonly string[] {
  const { request, sessionId, isResumed, mcp } = launch
  const { effort } = request.settings
  const model = modelName(launch)
  return [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    // Otherwise a resumed program presents its pending call before it has the hook.
    "--await-initialize",
    ...["--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode", "default"],
    ...["--setting-sources", "", "--settings", JSON.stringify(settings), "--tools", toolNames(request).join(",")],
    ...["--strict-mcp-config", "--mcp-config", JSON.stringify({ mcpServers: mcp.servers })],
    ...(isResumed ? ["--resume", sessionId] : ["--session-id", sessionId]),
    ...(model === undefined ? [] : ["--model", model]),
    ...(effort === undefined ? [] : ["--effort", effortLevel(effort)]),
    ...["--max-turns", String(turnsLeft(launch))],
  ]
}

/** Sent and not on the command line, whose length is limited. */
function optionsOf({ request: { system, outputSchema } }: Launch): JsonObject {
  return {
    ...(system !== undefined && { appendSystemPrompt: system }),
    ...(outputSchema !== undefined && { jsonSchema: outputSchema }),
  }
}
