import { type Options, query, type SDKAssistantMessage } from "@anthropic-ai/claude-agent-sdk"
import { claudeHooks, sendTranscriptStop, transcriptLine } from "longhaul/enforce/claude-agent-sdk"
import type { ToolPolicy } from "longhaul/policy"

/** Compiled only: the SDK takes the hooks and the permission callback without a cast. */
export async function session(policy: ToolPolicy): Promise<void> {
  const { hooks, canUseTool } = claudeHooks(policy, { includeStop: false })
  const options: Options = { model: "claude-sonnet-4-5", hooks, canUseTool }
  const lines: string[] = []
  let sessionId = ""
  for await (const message of query({ prompt: "Hello", options })) {
    if (message.type === "assistant") lines.push(transcriptLine(message satisfies SDKAssistantMessage))
    sessionId = message.session_id ?? sessionId
  }
  await sendTranscriptStop(policy, { sessionId, model: "claude-sonnet-4-5", transcriptLines: lines })
}
