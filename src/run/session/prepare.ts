import type { CallAnswer, HistoryOrigin, OpenRequest, SessionOrigin, TurnInput } from "../../contract/backend.ts"
import type { MeasuredContext, TurnMessage } from "../../contract/compaction.ts"
import type { ContentPart } from "../../contract/content.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Message } from "../../contract/message.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import { renderBrief } from "../../lib/compaction/brief.ts"
import { redactedTools } from "../../settings/config/secrets.ts"
import type { OpenRun } from "../state/open-run.ts"
import { cannotWithhold, withheldTools } from "./withheld-tools.ts"

/** The conversation of a run, and the message that the model has to answer next. */
export interface Prepared {
  /** Everything, with the prompt. */
  readonly said: readonly TurnMessage[]
  readonly measured: MeasuredContext | undefined
  readonly messages: readonly Message[]
  readonly prompt?: readonly ContentPart[]
}

/** Reads the conversation from the journal's fold. */
export function prepare({ input, projection, target }: OpenRun): Prepared {
  // Kept in memory only while another entry of the chain, or another attempt of the same, may need it.
  const { context } = projection
  const { measured } = context
  const before = input.before?.messages ?? []
  const isNeeded = input.chain.length > 1 || !target.backend.capabilities.retries
  const said = isNeeded ? [...context.after(before)] : context.handOver(before)
  const messages = said.map(({ message }) => message)
  const last = messages.at(-1)
  if (last?.role !== "user") return { said, measured, messages }
  return { said, measured, messages: messages.slice(0, -1), prompt: last.content }
}

/** Everything up to the prompt, for a new session. */
export function historyOrigin({ projection }: OpenRun, { messages }: Prepared): HistoryOrigin {
  return { kind: "history", messages, turns: projection.turns, brief: () => renderBrief(messages) }
}

/** The request with which a backend opens a session. */
export function openRequest(run: OpenRun, from: HistoryOrigin | SessionOrigin): OpenRequest {
  const { key, input, target, ledger, redactor } = run
  const { system, cwd, limits, settings, form, dispatcher, mcpServers } = input
  const model = target.model ?? target.modelName
  const own = new Set(target.backend.capabilities.ownTools.map(({ name }) => name))
  const tools = redactedTools(redactor, dispatcher.listTools())
  return {
    runId: key.runId,
    cwd,
    ...(model !== undefined && { model }),
    ...(system !== undefined && { system }),
    // A backend uses its own tools for what it can do by itself.
    tools: own.size === 0 ? tools : tools.filter(({ name }) => !own.has(name)),
    withoutTools: withoutTools(run),
    mcpServers,
    settings,
    ...(form && { outputSchema: form.schema }),
    limits: { turns: limits.turns, reserved: ledger.limited },
    from,
  }
}

/** The own tools of the backend that the run may not use. Throws if nothing can keep the backend from running them. */
function withoutTools({ input, target }: OpenRun): readonly string[] {
  const { name: backend, capabilities } = target.backend
  const { names, unstoppable } = withheldTools(capabilities, input.extensions.filter)
  if (unstoppable === undefined) return names
  throw new LonghaulError("config_invalid", cannotWithhold(backend, unstoppable), {
    fix: "Omit allowedTools and disabledTools, or use another backend.",
  })
}

/** The first input of a new session. */
export function firstInput({ prompt }: Pick<Prepared, "prompt">): TurnInput {
  return prompt ? { kind: "prompt", content: prompt } : { kind: "continue", answers: [] }
}

/** The first input of a continued session: it knows everything but the outcome of its open calls, and new messages. */
export function continuation({ projection, openBefore }: OpenRun, { prompt }: Pick<Prepared, "prompt">): TurnInput {
  const answers = openBefore.flatMap((callId) => {
    const call = projection.calls.get(callId)
    return call ? [answerOf(call, projection)] : []
  })
  if (answers.length === 0) return firstInput(prompt ? { prompt } : {})
  return { kind: "continue", answers, ...(prompt && { content: prompt }) }
}

function answerOf(
  { callId, name, args, outcome, executor }: ProjectedCall,
  { ask, resumeBy }: OpenRun["projection"],
): CallAnswer {
  const call = { callId, name, args }
  if (outcome === undefined) return { kind: "replay", call }
  // An approval that no call has used yet is waiting for the model to repeat its call.
  const isApproved = ask?.request.callId === callId && ask.decision?.decision === "approve"
  const isRepeated = isApproved && resumeBy === "repeat" && executor === "backend"
  return isRepeated ? { kind: "repeat", call } : { kind: "outcome", call, outcome }
}
