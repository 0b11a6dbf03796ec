import type { Reserve, RunRecord, Target } from "../contract/event.ts"
import { plainText } from "../lib/content.ts"
import { counted, dollars, duration, modelLabel, shortArguments, spending, steered, tokens } from "./format.ts"
import { startFolder } from "./start-folder.ts"

/** A one-line summary of a record. Contains raw data: clip it or make it visible before it is shown. */
export function describeRecord(record: RunRecord): string {
  switch (record.type) {
    case "run-start":
      return describeStart(record)
    case "run-resume":
      return record.cause
    case "choice":
      return [record.backend, record.model, ...record.reasons].filter((word) => word !== undefined).join(", ")
    case "failover":
      return describeFailover(record)
    case "metering":
      return spending(record.usage)
    case "sample-start":
      return `${record.source} asks the model${reserved(record.reserve)}`
    case "session":
      return record.ref.id
    case "warning":
      return `${record.code}: ${record.message}`
    case "turn-start":
      return `turn ${record.turn}${reserved(record.reserve)}`
    case "retry": {
      const { attempt, delayMs, failure } = record
      return `attempt ${attempt} failed, retry after ${duration(delayMs)}: ${failure.code}: ${failure.message}`
    }
    case "reasoning-end":
      return record.text
    case "text-end":
      return `${record.partial ? "[cut off] " : ""}${record.text}`
    case "tool-call":
      return `${record.callId} ${record.name} ${shortArguments(record.args, 100)}`
    case "usage":
      return `${record.model}: ${spending(record.usage)}, stopped for ${record.stopReason}${took(record.durationMs)}`
    case "approval-request":
      return `${record.of ? `${record.of.agent} ${record.of.callId}` : record.callId} is waiting (${record.reason}): ${record.question}`
    case "agent-start":
      return `${record.agentId} (${record.name}${record.background ? ", in the background" : ""}): ${record.description}`
    case "agent-end":
      return `${record.agentId} ${record.status}: ${counted(record.turns, "turn")}, ${spending(record.usage)}`
    case "approval-result":
      return describeDecision(record)
    case "policy-decision":
      return `${record.callId} ${record.verdict}: ${record.reasons.map(({ text }) => text).join(" ")}`
    case "tool-intent":
      return `${record.callId} is about to run with the effect ${record.effect}`
    case "tool-question":
      return `${record.callId} asks: ${record.question}`
    case "tool-result": {
      const { status, output } = record.outcome
      return `${record.callId} ${status}${took(record.durationMs)}: ${plainText(output, " ")}`
    }
    case "steer":
      return steered(record)
    case "interrupt":
      return record.mode
    case "cancel":
      return ""
    case "turn-end":
      return `turn ${record.turn}`
    case "compaction-request":
      return "the host asked for it"
    case "compaction-start":
      return `turn ${record.turn}, a summary is requested${reserved(record.reserve)}`
    case "compaction":
      return describeCompaction(record)
    case "extensions":
      return record.extensions.map(({ name, tools }) => `${name} (${counted(tools.length, "tool")})`).join(", ")
    case "checkpoint":
      return counted(Object.keys(record.files).length, "file")
    case "run-pause":
      return record.text === undefined ? record.reason : `${record.reason}: ${record.text}`
    case "run-remove":
      return record.runId
    case "run-end": {
      const { status, error } = record
      return error === undefined ? status : `${status}: ${error.code}: ${error.message}`
    }
  }
}

function describeStart({ input, tools }: RunRecord & { readonly type: "run-start" }): string {
  const task = input.messages.findLast(({ role }) => role === "user")
  const words = task?.role === "user" ? plainText(task.content, " ") : ""
  return `${modelLabel(input.model)} in ${startFolder(input)}, ${counted(tools.length, "tool")}: ${words}`
}

function describeDecision({ callId, decision, text, args }: RunRecord & { readonly type: "approval-result" }): string {
  const changed = args === undefined ? "" : ` with ${shortArguments(args, 100)}`
  return `${callId} ${decision}${changed}${text === undefined ? "" : `: ${text}`}`
}

export function describeFailover({ from, to, failure }: RunRecord & { readonly type: "failover" }): string {
  const name = ({ backend, model }: Target) => (model === undefined ? backend : `${backend} (${model})`)
  return `${name(from)} failed: ${failure.code}: ${failure.message} ${to ? `The run continues on ${name(to)}.` : "No entry of the chain is left."}`
}

export function describeCompaction(record: RunRecord & { readonly type: "compaction" }): string {
  const { cause, head, results, usage } = record
  const cut = results && `${counted(Object.keys(results.keep).length, "result")} shortened`
  const summary = head && `summary up to turn ${head.through}${usage ? ` (${spending(usage)})` : ""}`
  const changes = [cut, summary].filter((change) => change !== undefined)
  const { before, after } = record.tokens
  return [`${cause}: ${tokens(before)} → ${tokens(after)}`, ...changes].join(", ") + took(record.durationMs)
}

function reserved(reserve: Reserve | undefined): string {
  return reserve === undefined ? "" : `, reserved: ${tokens(reserve.tokens)} · ${dollars(reserve.usd)}`
}

function took(durationMs: number | undefined): string {
  return durationMs === undefined ? "" : ` after ${duration(durationMs)}`
}
