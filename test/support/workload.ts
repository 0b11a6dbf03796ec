import type { RunEvent, RunRecord } from "../../src/contract/event.ts"
import type { Message } from "../../src/contract/message.ts"
import type { RuntimeConfig } from "../../src/contract/run.ts"
import type { RunState, Runtime } from "../../src/contract/runtime.ts"
import type { Effect, ToolContext } from "../../src/contract/tool.ts"
import { type ScriptedOutcome, scriptedModel } from "../../src/testing/index.ts"
import { askUserTool } from "../../src/tools/ask-user.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"

/** An effect of a tool outside the run. */
export interface Deed {
  readonly key: string
  readonly effect: Effect
}

/**
 * Calls of every effect, in parallel and alone, a gate and a question: each step depends only on the conversation. The
 * return value of `act` is part of the tool's result.
 */
export function workload(act: (deed: Deed) => unknown): Pick<RuntimeConfig, "model" | "tools" | "hooks"> {
  const tool = (name: string, effect: Effect) =>
    defineTool({
      name,
      description: name,
      effect,
      concurrent: name !== "sign",
      inputSchema: { type: "object" },
      async run(_, { idempotencyKey }: ToolContext) {
        return `${name} is done: ${String(await act({ key: idempotencyKey, effect }))}`
      },
    })
  return {
    model: scriptedModel(Array.from({ length: MAX_CALLS }, () => answer)),
    tools: [tool("look", "none"), tool("put", "repeatable"), tool("pay", "once"), tool("sign", "once"), askUserTool()],
    hooks: {
      gateBeforeTool: (name) => (name === "sign" ? { allow: false, reason: "May it sign?" } : { allow: true }),
    },
  }
}

const MAX_CALLS = 40

function answer(messages: readonly Message[]): ScriptedOutcome {
  const said = messages.filter(({ role }) => role === "assistant").length
  const names = steps[said]
  if (names === undefined) return LAST_WORDS
  const parts = names.map((name) => ({
    toolCall: { name, args: name === "AskUser" ? { question: "Which one?" } : { step: said } },
  }))
  return { parts: [{ text: `Step ${said}.` }, ...parts] }
}

const steps = [["look", "look", "look"], ["put"], ["pay", "look", "pay"], ["sign", "put"], ["AskUser"], ["pay"]]
const LAST_WORDS = "All is done."

export const records = (hear: (record: RunRecord) => void) => (event: RunEvent) => {
  if ("seq" in event) hear(event)
}

/** The current state of the run. */
export function found(runtime: Runtime): Promise<RunState> {
  return runtime.status("r")
}

/** Advances the run by one part: starts it, makes the pending decision, or resumes it. */
export function continueRun(
  runtime: Runtime,
  state: RunState | undefined,
  onEvent: (event: RunEvent) => void,
  options: { readonly takeover?: boolean } = {},
): Promise<RunState> {
  if (state === undefined || state.status === "not_found") return runtime.run({ task: "Work.", runId: "r", onEvent })
  const how = { runId: "r", onEvent, ...options }
  if (state.status !== "paused") return runtime.resume(how)
  const said = state.pause?.reason === "input" ? { answer: "The second." } : { decision: "approve" as const }
  return runtime.resume({ ...how, ...said })
}

/**
 * Checks everything that must hold after any crash against published records and effects; returns violations as text.
 */
export function faults(
  history: readonly RunRecord[],
  told: readonly RunRecord[],
  deeds: readonly Deed[],
  state: RunState,
): string[] {
  const wrong: string[] = []
  if (state.status !== "done" || state.text !== LAST_WORDS)
    wrong.push(`the run is ${state.status} (${state.error?.code ?? state.text}), not done`)
  for (const record of told) {
    if (JSON.stringify(history[record.seq]) !== JSON.stringify(record))
      wrong.push(`acknowledged record ${record.seq} (${record.type}) is lost`)
  }
  const times = new Map<string, number>()
  for (const { key, effect } of deeds) if (effect === "once") times.set(key, (times.get(key) ?? 0) + 1)
  for (const [key, count] of times) {
    if (count > 1) wrong.push(`${key} happened ${count} times`)
    if (!history.some((record) => record.type === "tool-intent" && record.key === key))
      wrong.push(`${key} happened and its intent is lost`)
  }
  const intents = new Map(history.flatMap((each) => (each.type === "tool-intent" ? [[each.callId, each]] : [])))
  for (const { id, name, status } of state.toolCalls) {
    const intent = intents.get(id)
    if (status !== "ok" && status !== "unknown") wrong.push(`${name} ${id} is ${status}`)
    if (status === "unknown" && intent === undefined) wrong.push(`${name} ${id} is flagged and never began`)
    if (status === "ok" && intent?.effect === "once" && !times.has(intent.key))
      wrong.push(`${name} ${id} is ok and never happened`)
  }
  return wrong
}
