import type { RunRecord } from "../../contract/event.ts"
import type { RunState } from "../../contract/runtime.ts"
import { plainText } from "../../lib/content.ts"
import { type Command, commonOptions, nodeOption, onlyPositional, parseCommandLine, storeOption } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { describeCompaction, describeRecord } from "../describe-record.ts"
import { exchangesOf } from "../exchanges.ts"
import {
  agentIndent,
  clip,
  counted,
  duration,
  failureLines,
  localTime,
  modelLabel,
  shortArguments,
  spending,
  statusLabel,
  statusWord,
  steered,
  visible,
} from "../format.ts"
import { type Colours, indented, type Output } from "../output.ts"
import { printPause } from "../print-result.ts"
import { findRunId, openStore, runNotFound } from "../read-store.ts"
import { type Repeated, repeatedOptions } from "../repeated-options.ts"
import { startFolder } from "../start-folder.ts"

const options = {
  ...nodeOption,
  events: { type: "boolean", help: "Show the journal's records; with --json, one per line." },
  ...storeOption,
  ...configOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Show one run step by step from its journal.",
  usage: "[options] <runId>",
  options,
  completes: "runId",
  notes: [
    "The first characters of a run id are enough if they are unique.",
    "For a conversation, all exchanges are shown in order; with --json, one per line.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("show", args, options)
    const given = onlyPositional("show", "runId", positionals)
    const opened = await openStore(values, output)
    const runId = await findRunId(opened, given)
    const nodes = await exchangesOf(opened, runId, values.node)
    for (const nodeId of nodes) {
      const state = await opened.runtime.status(runId, nodeId)
      if (state.status === "not_found")
        throw runNotFound(nodeId === "main" ? runId : `${runId}/${nodeId}`, opened.store.location)
      if (values.json && !values.events) {
        output.printJson(state)
        continue
      }
      const records: RunRecord[] = []
      for await (const record of opened.runtime.events(runId, { nodeId, agents: true })) records.push(record)
      if (values.events && values.json) for (const record of records) output.printJson(record)
      else if (values.events) for (const record of records) output.print(recordLine(record, output.colours))
      else {
        if (nodeId !== nodes[0]) output.print("")
        await printRun(
          state,
          records,
          repeatedOptions({ "workspace-id": values["workspace-id"] }, values.store),
          output,
        )
      }
    }
    return 0
  },
}

function recordLine({ seq, at, type, agent, ...rest }: RunRecord, colours: Colours): string {
  const time = colours.dim(localTime(at).slice(11))
  return `${agentIndent(agent)}${String(seq).padStart(4)}  ${time}  ${type.padEnd(14)} ${clip(JSON.stringify(rest), 120)}`
}

async function printRun(
  state: RunState,
  records: readonly RunRecord[],
  options: Repeated,
  output: Output,
): Promise<void> {
  const { colours } = output
  const row = (name: string, text: string) => output.print(`${colours.dim(name.padEnd(9))}${text}`)
  const start = records.find((record) => record.type === "run-start")
  const node = state.nodeId === "main" ? "" : ` (${state.nodeId})`
  row("run", `${colours.bold(state.runId)}${node}`)
  row("status", statusLabel(statusWord(state), colours))
  if (start) row("started", localTime(start.at))
  row("model", modelLabel(state.model ?? start?.input.model))
  if (start) row("in", visible(startFolder(start.input)))
  if (start?.input.system !== undefined) row("system", clip(start.input.system, 300))
  const task = start?.input.messages.findLast(({ role }) => role === "user")
  if (task?.role === "user") row("task", visible(plainText(task.content, "\n")))

  const callsOf = await callsByAgent(state, records)
  for (const record of records) {
    const { agent } = record
    const place = agent === undefined ? output : indented(output, agentIndent(agent))
    printStep(record, callsOf.get(agent) ?? [], place)
  }

  output.print("")
  if (state.pause) printPause({ ...state, status: "paused" }, state.pause, options, output)
  const words = [counted(state.turns, "turn"), spending(state.usage), duration(state.durationMs)]
  output.print(`${statusLabel(state.status, colours)} ${words.join(" · ")}`)
  row("tokens", bucketsOf(state))
  for (const warning of state.warnings) row("warning", `${warning.code}: ${visible(warning.message)}`)
  if (state.error) for (const line of failureLines(state.error, colours)) output.print(line)
  row("journal", state.transcript.path)
}

/** The calls of the run and of each agent: the state has those of the run only. */
async function callsByAgent(
  { workspaceId, toolCalls, transcript }: RunState,
  records: readonly RunRecord[],
): Promise<ReadonlyMap<string | undefined, RunState["toolCalls"]>> {
  const calls = new Map<string | undefined, RunState["toolCalls"]>([[undefined, toolCalls]])
  const agents = new Set(records.map(({ agent }) => agent))
  agents.delete(undefined)
  if (agents.size === 0) return calls
  const { project } = await import("../../journal/projection.ts")
  const { resultOf } = await import("../../journal/result.ts")
  for (const agent of agents) {
    const own = project(records.filter((record) => record.agent === agent))
    calls.set(agent, resultOf(own, { workspaceId, ...transcript }).toolCalls)
  }
  return calls
}

function printStep(record: RunRecord, toolCalls: RunState["toolCalls"], output: Output): void {
  const { colours } = output
  const remark = (sign: string, text: string) => output.print(`${colours.yellow(sign)} ${text}`)
  switch (record.type) {
    case "turn-start":
      output.print(`\n${colours.bold(`turn ${record.turn}`)}`)
      break
    case "run-resume":
      remark("▸", `resumed: ${record.cause}`)
      break
    case "reasoning-end":
      if (record.text.trim() !== "") output.print(colours.dim(`(thinking) ${clip(record.text, 300)}`))
      break
    case "text-end":
      output.print(`${visible(record.text).trimEnd()}${record.partial ? colours.yellow(" [cut off]") : ""}`)
      break
    case "tool-call":
      printCall(record.callId, toolCalls, output)
      break
    case "retry": {
      const { code, message } = record.failure
      remark("↻", `${code}: ${clip(message, 200).replace(/\.$/, "")}: retried after ${duration(record.delayMs)}`)
      break
    }
    case "steer":
      remark("▸", steered(record))
      break
    case "agent-start":
    case "agent-end":
      output.print(`${colours.yellow("↳")} agent ${clip(describeRecord(record), 200)}`)
      break
    case "compaction":
      remark("▸", `conversation shortened: ${describeCompaction(record)}`)
      break
    case "interrupt":
      remark("▸", `interrupted: ${record.mode}`)
      break
  }
}

function printCall(callId: string, toolCalls: RunState["toolCalls"], output: Output): void {
  const { colours } = output
  const call = toolCalls.find(({ id }) => id === callId)
  if (!call) return
  const ok = call.status === "ok"
  const words = [
    colours.bold(clip(call.name, 60)),
    shortArguments(call.args, 100),
    colours.dim(duration(call.durationMs)),
  ]
  output.print(`${ok ? colours.green("✓") : colours.red("✗")} ${words.filter((word) => word !== "").join(" ")}`)
  const text = ok ? (call.result ?? "") : `${call.status}: ${call.error ?? ""}`
  const lines = visible(text).trimEnd().split("\n")
  for (const line of lines.slice(0, shownLines)) output.print(colours.dim(`    ${line.slice(0, 160)}`))
  if (lines.length > shownLines) output.print(colours.dim(`    … ${counted(lines.length - shownLines, "more line")}`))
}

const shownLines = 4

function bucketsOf({ usage }: RunState): string {
  const buckets = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    "cache read": usage.cacheReadTokens,
    "cache write": usage.cacheWriteTokens,
  }
  return Object.entries(buckets)
    .map(([name, count]) => `${name} ${count ?? "unknown"}`)
    .join(" · ")
}
