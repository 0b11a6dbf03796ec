import type { ToolCall } from "../contract/backend.ts"
import type { RecordBody } from "../contract/event.ts"
import type { ToolContext, ToolOutcome } from "../contract/tool.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"

/** What the calls of one run return beyond what can be shown of it. */
export interface Overflow {
  /** Dispatches a call; what is cut from its result is kept where there is a place for it. */
  dispatch(call: ToolCall, context: ToolContext): Promise<ToolOutcome>
  /** The call's result goes on record: what was cut from it is told beside it. */
  recorded(callId: string): void
}

export function createOverflow({ artifacts, env }: ResolvedConfig, { key, input, journal }: OpenRun): Overflow {
  const { dispatcher } = input
  if (artifacts === undefined) {
    return { dispatch: (call, context) => dispatcher.dispatch(call, context), recorded() {} }
  }
  const readable = artifacts.environment?.(env, key) ?? env
  /** What is to be told of each call's last attempt: one that was dropped may still be at it. */
  const attempts = new Map<string, { warning?: RecordBody }>()
  return {
    dispatch(call, context) {
      const attempt: { warning?: RecordBody } = {}
      attempts.set(call.callId, attempt)
      return dispatcher.dispatch(call, { ...context, env: readable }, async (artifact) => {
        attempt.warning = truncated(call, "it could not be saved")
        const path = await artifacts.save(key, artifact)
        if (path === null) delete attempt.warning
        else attempt.warning = { ...truncated(call, `all of it is at ${path}`), paths: [path] }
        return path
      })
    },
    recorded(callId) {
      const warning = attempts.get(callId)?.warning
      if (warning) journal.append(warning)
      attempts.delete(callId)
    },
  }
}

function truncated({ name, callId }: ToolCall, where: string) {
  const message = `What ${name} returned (call ${callId}) was cut; ${where}.`
  return { type: "warning", code: "tool_payload_truncated", message } as const
}
