import type { ResumeInput } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import type { ProjectedAsk } from "../../journal/projected-call.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { pendingOf } from "../../journal/result.ts"
import type { OpenRun } from "../state/open-run.ts"
import type { Suspension } from "../state/stops.ts"

/** The decision that a run has recorded about the question of an agent, if the agent has not recorded it itself. */
export function decisionFor(
  { projection }: OpenRun,
  callId: string,
  agent: RunProjection,
): Required<ProjectedAsk> | undefined {
  const decided = projection.agents.decisions.get(callId)
  if (agent.ask === undefined || agent.ask.decision !== undefined) return undefined
  return decided?.request.ticket === agent.ask.request.ticket ? decided : undefined
}

export function isUndecided(run: OpenRun, callId: string, agent: RunProjection): boolean {
  if (agent.status !== "paused" || pendingOf(agent) === null || agent.ask?.decision) return false
  return decisionFor(run, callId, agent) === undefined
}

/** A recorded decision, as the person gave it. */
export function handedDown(decided: Required<ProjectedAsk> | undefined): Partial<ResumeInput> {
  if (decided === undefined) return {}
  const { decision, text, args, always } = decided.decision
  return {
    ticket: decided.request.ticket,
    ...(decision !== "answer" && { decision: always ? "always" : decision }),
    ...(text !== undefined && { answer: text }),
    ...(args !== undefined && { args }),
  }
}

/** How a paused agent stopped, for the run that started it by this call. */
export function waitingEnd(callId: string, key: RunKey, agent: RunProjection): Suspension {
  const pending = pendingOf(agent)
  const { ask, pause } = agent
  if (pending && ask && pause && ask.decision === undefined && asks.has(pause.reason)) {
    const { digest, reason, question, by } = ask.request
    const { args, ticket, always, id, name } = pending
    const of = { agent: pending.agent ?? key.agent ?? "", callId: id, tool: name }
    const request = { digest, ticket, reason, question, args, ...(always && { always }), ...(by && { by }), of }
    return { kind: "asked", request: { type: "approval-request", callId, ...request } }
  }
  if (pause?.reason === "released") return { kind: "released" }
  return { kind: "handover", text: `Agent ${key.agent}: ${pause?.text ?? "it is paused"}` }
}

const asks: ReadonlySet<string> = new Set(["approval", "input", "unknown_outcome"])
