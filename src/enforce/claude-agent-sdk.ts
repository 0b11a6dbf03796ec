import { LonghaulError } from "../contract/error.ts"
import { texts, toolPolicy } from "../lib/schema/contract-shapes.ts"
import { checkArgument, checkShape, having, required, words } from "../lib/schema/shape.ts"
import type { ToolPolicy } from "../policy/service/tool-use.ts"
import type { ClaudeCanUseTool, ClaudeHook, ClaudeHookMatcher } from "./claude-shapes.ts"
import { ClaudeToolCalls } from "./claude-tool-calls.ts"
import { checkOptions } from "./enforced-call.ts"

export type { ClaudeCanUseTool, ClaudeHook, ClaudeHookMatcher } from "./claude-shapes.ts"

export interface ClaudeHooksOptions {
  /** Default true. False: `Stop` is not reported, for use with `sendTranscriptStop`. */
  readonly includeStop?: boolean
}

/** Options for `query()` of `@anthropic-ai/claude-agent-sdk`. Both are needed. */
export interface ClaudeEnforcement {
  readonly hooks: Partial<Record<ClaudeHookEvent, ClaudeHookMatcher[]>>
  readonly canUseTool: ClaudeCanUseTool
}

type ClaudeHookEvent =
  | "UserPromptSubmit"
  | "PreToolUse"
  | "PostToolUse"
  | "PostToolUseFailure"
  | "PostToolBatch"
  | "Stop"

/**
 * Hooks and a permission callback that ask the policy about each call of any tool, also in subagents, and check each output. A call
 * that is not allowed is denied with the reason; an output is replaced by the reason; the output of a failed call, which the SDK
 * cannot replace, ends the run.
 */
export function claudeHooks(policy: ToolPolicy, options: ClaudeHooksOptions = {}): ClaudeEnforcement {
  checkOptions("claudeHooks", { policy, sessionId: "the SDK's" })
  checkShape<ClaudeHooksOptions>("claudeHooks", options, { includeStop: "boolean" })
  const { includeStop = true } = options
  const calls = new ClaudeToolCalls(policy)
  const { prompt, stop } = lifecycle(policy)
  // With parameters of its own: the SDK takes what has a length for matchers.
  const permit: ClaudeCanUseTool = (name, input, context) => calls.permit(name, input, context)
  return {
    hooks: {
      UserPromptSubmit: [matcher(prompt)],
      PreToolUse: [matcher((input) => calls.before(input))],
      PostToolUse: [matcher((input) => calls.after(input))],
      PostToolUseFailure: [matcher((input) => calls.failed(input))],
      PostToolBatch: [matcher((input) => calls.batch(input))],
      ...(includeStop && { Stop: [matcher(stop)] }),
    },
    canUseTool: Object.assign(permit, { map: passedAsHooks }),
  }
}

/** The SDK maps the matchers of each event. In place of the map of events, the result would enforce nothing. */
function passedAsHooks(): never {
  throw new LonghaulError(
    "config_invalid",
    "The result of claudeHooks was passed as `hooks`, which enforces nothing.",
    {
      fix: "Spread it into the options: query({ prompt, options: { ...claudeHooks(policy) } }).",
    },
  )
}

/** An assistant message of the SDK as a line of a transcript. */
export function transcriptLine(message: {
  readonly type: "assistant"
  readonly message: object
  readonly session_id: string
}): string {
  checkArgument(
    "message",
    message,
    having({ type: required(words("assistant")), message: required("object"), session_id: required("text") }),
  )
  const { type, session_id, message: content } = message
  return JSON.stringify({ type, session_id, message: content })
}

export interface TranscriptStop {
  readonly sessionId: string
  readonly model?: string
  /** Made by `transcriptLine`. */
  readonly transcriptLines: readonly string[]
}

/** Reports the end of a session with its transcript. Rejects if the event was not accepted. */
export async function sendTranscriptStop(policy: ToolPolicy, stop: TranscriptStop): Promise<void> {
  checkArgument("policy", policy, toolPolicy)
  checkShape<TranscriptStop>("sendTranscriptStop", stop, {
    sessionId: required("text"),
    model: "text",
    transcriptLines: required(texts),
  })
  const { sessionId, model, transcriptLines } = stop
  if (policy.send === undefined) {
    throw new LonghaulError("config_invalid", "The policy receives no events, so the transcript cannot be sent.", {
      fix: "Pass a PolicyClient.",
    })
  }
  const transcript = transcriptLines.join("\n")
  await policy.send({ event: "Stop", sessionId, transcript, ...(model !== undefined && { model }) }, { strict: true })
}

/** An hour, far above our own deadline: the SDK passes an output on when its hook is late. */
function matcher(hook: ClaudeHook): ClaudeHookMatcher {
  return { hooks: [hook], timeout: 3600, onFailure: "block" }
}

/** The SDK does not deliver `SessionStart` to callbacks; the first prompt of a session comes before everything else. */
function lifecycle(policy: ToolPolicy): { readonly prompt: ClaudeHook; readonly stop: ClaudeHook } {
  const started = new Set<string>()
  const send: NonNullable<ToolPolicy["send"]> = async (event) => policy.send?.(event).catch(() => undefined)
  return {
    async prompt({ session_id: sessionId, prompt }) {
      if (!started.has(sessionId)) await send({ event: "SessionStart", sessionId })
      started.add(sessionId)
      await send({ event: "UserPromptSubmit", sessionId, ...(typeof prompt === "string" && { prompt }) })
      return {}
    },
    async stop({ session_id: sessionId }) {
      await send({ event: "Stop", sessionId })
      return {}
    },
  }
}
