import { relative, resolve } from "node:path"
import type { Pause, RunResult, RunStatus } from "../contract/result.ts"
import { namedProviders } from "../hosts/node/model-names.ts"
import { invocation } from "./arguments.ts"
import { clip, counted, duration, failureLines, modelLabel, spending, statusLabel, visible } from "./format.ts"
import type { Output } from "./output.ts"
import type { Repeated } from "./repeated-options.ts"

export const exitCodes: Readonly<Record<RunStatus, number>> = { done: 0, failed: 1, paused: 3, cancelled: 130 }

/** The answer alone. With an output schema: its JSON, or nothing if it is invalid. */
export function printAnswer(result: RunResult, { formed }: { readonly formed: boolean }, output: Output): void {
  if (result.structuredSource !== undefined) output.printJson(result.data)
  else if (result.text !== "" && !formed) output.print(visible(result.text))
  printError(result, output)
}

export function printError({ error }: RunResult, output: Output): void {
  if (error === undefined) return
  const fix = error.fix && withOptionNames(error.fix)
  for (const line of failureLines({ ...error, ...(fix !== undefined && { fix }) }, output.errorColours)) {
    output.complain(line)
  }
}

export function withOptionNames(advice: string): string {
  return advice.replaceAll(settingNames, (setting) => optionNames[setting] ?? setting)
}

/** Names of settings in the library's advice, and their names here. */
const optionNames: Readonly<Record<string, string>> = {
  "limits.turns": "--max-turns",
  "limits.timeMs": "--timeout",
  "limits.tokens": "--max-tokens",
  "limits.usd": "--max-cost",
  maxOutputTokens: "--max-output",
  runId: "--run-id",
  "mcpServers to resume, or to createRuntime": "--mcp-config <file>",
  resolvePricing: "resolvePricing in a config file",
}

const settingNames = new RegExp(Object.keys(optionNames).join("|").replaceAll(".", "\\."), "g")

/** Prints the outcome, the location of the run and the next commands. `cwd` is the tools' working directory. */
export function printOutcome(result: RunResult, cwd: string, options: Repeated, output: Output): void {
  // Nothing was started: there is no run to point to.
  if (result.transcript.lastShard < 0) {
    printError(result, output)
    return
  }
  const { colours } = output
  const row = (name: string, text: string) => output.print(`${colours.dim(name.padEnd(9))}${text}`)
  const words = [
    result.runId,
    counted(result.turns, "turn"),
    spending(result.usage),
    duration(result.durationMs),
    ...(result.model === null ? [] : [modelLabel(result.model)]),
  ]
  output.print("")
  output.print(`${statusLabel(result.status, colours)} ${words.join(" · ")}`)
  printError(result, output)
  const { store: at, all } = options
  if (result.pause) printPause(result, result.pause, options, output)
  if (result.structuredSource !== undefined) row("data", clip(JSON.stringify(result.data), 300))
  for (const path of writtenFiles(result, cwd)) row("wrote", visible(path))
  row("journal", result.transcript.path)
  const self = invocation()
  const canResume = result.status === "failed" || result.status === "cancelled"
  const steps = [
    ...(canResume ? [`${self} resume ${result.runId}${all}  # continue from where it stopped`] : []),
    `${self} show ${result.runId}${at}  # every step of this run, from its journal`,
    `${self} runs${at}  # all runs`,
    ...(result.model === "offline" ? [`export ${firstKey}=…  # then an LLM works on the task; or ${otherKeys}`] : []),
    ...(result.model === "offline"
      ? [`${self} doctor  # list the keys, local models and programs that were found`]
      : []),
  ]
  for (const [index, step] of steps.entries()) row(index === 0 && !result.pause ? "next" : "", step)
}

/** The pending decisions of a run, and the exact commands to make them. */
export function printPause(
  { runId }: RunResult,
  { reason, pendingToolCall: call }: Pause,
  { all: at, notes }: Repeated,
  output: Output,
): void {
  const row = (name: string, text: string) => output.print(`${output.colours.dim(name.padEnd(9))}${text}`)
  if (call) {
    // A form has a line for each of its fields.
    const lines = call.by === "tool" ? visible(call.question).split("\n") : [call.question]
    for (const [index, line] of lines.entries()) row(index === 0 ? "waits" : "", clip(line, 500))
    const who = call.agent === undefined ? "" : `agent ${visible(call.agent)}: `
    if (reason !== "input") row("for", `${who}${visible(call.name)} ${clip(JSON.stringify(call.args), 300)}`)
    else if (who !== "") row("for", who.slice(0, -2))
  }
  const self = invocation()
  const steps = {
    approval: [`approve ${runId}${at}`, `reject ${runId} --reason "…"${at}`, `resume ${runId} --answer "…"${at}`],
    input: [
      `resume ${runId} --answer "…"${at}`,
      ...(call?.by === "tool" ? [`reject ${runId} --reason "…"${at}  # decline`] : []),
    ],
    unknown_outcome: [
      `approve ${runId}${at}  # run it again`,
      `reject ${runId} --reason "…"${at}  # do not run it again`,
      `resume ${runId} --answer "…"${at}  # report its outcome`,
    ],
    fork: [`resume ${runId} --answer "…"${at}`],
    released: [`resume ${runId}${at}`],
    handover: [`resume ${runId} --answer "…"${at}`],
  }
  for (const [index, step] of steps[reason].entries()) row(index === 0 ? "next" : "", `${self} ${step}`)
  for (const note of notes) row("", `# ${visible(note)}`)
}

/** The keys that are enough to choose a model. */
const [firstKey, ...moreKeys] = namedProviders.flatMap(({ keyNames, defaultModel }) =>
  defaultModel === undefined ? [] : (keyNames[0] ?? []),
)
const otherKeys = moreKeys.join(", ")

function writtenFiles({ toolCalls }: RunResult, cwd: string): readonly string[] {
  const paths = toolCalls.flatMap(({ name, status, args }) => {
    const isWrite = name === "Write" && status === "ok" && typeof args === "object" && args !== null && "path" in args
    return isWrite ? [relative(process.cwd(), resolve(cwd, String(args.path)))] : []
  })
  return [...new Set(paths)]
}
