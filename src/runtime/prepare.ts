import type { OpenRequest, TurnInput } from "../contract/backend.ts"
import type { OpenRun } from "./open-run.ts"

/** Builds the backend's input: the conversation so far, and the prompt for the next turn. */
export function prepare(run: OpenRun): { request: OpenRequest; turn: TurnInput } {
  const { system, model, cwd, limits, settings, form, dispatcher, before } = run.input
  const { turns } = run.projection
  const own = run.projection.handOver()
  const messages = before ? [...before.messages, ...own] : own
  const last = messages.at(-1)
  const prompt = last?.role === "user" ? last : undefined
  return {
    request: {
      runId: run.key.runId,
      cwd,
      ...(model && { model }),
      ...(system !== undefined && { system }),
      tools: dispatcher.listTools(),
      settings,
      ...(form && { outputSchema: form.schema }),
      limits: { turns: limits.turns, reserved: run.ledger.limited },
      from: { kind: "history", messages: prompt ? messages.slice(0, -1) : messages, turns },
    },
    turn: prompt ? { kind: "prompt", content: prompt.content } : { kind: "continue" },
  }
}
