import { join, relative, resolve } from "node:path"
import { type ErrorCode, LonghaulError } from "../../contract/error.ts"
import type { RunResult, RunStatus } from "../../contract/result.ts"
import type { RunHandle, Runtime } from "../../contract/run.ts"
import {
  asksFor,
  type Command,
  commonOptions,
  invocation,
  numberOption,
  parseCommandLine,
  storeOption,
  UsageError,
} from "../arguments.ts"
import { counted, duration, failureLines, modelLabel, statusLabel, tokens, totalTokens, visible } from "../format.ts"
import { onSignals } from "../interrupts.ts"
import type { Output } from "../output.ts"
import { createProgress, type Progress } from "../progress.ts"
import { liveScreen, plainScreen } from "../screen.ts"

const options = {
  workspace: { type: "string", value: "<dir>", help: "The folder the tools work in. Default: this one." },
  model: { type: "string", value: "<name>", help: "anthropic:<model> or offline. Default: by the environment's key." },
  system: { type: "string", value: "<text>", help: "Instructions that stand above the task." },
  "max-turns": { type: "string", value: "<n>", help: "The most model calls. Default: 100." },
  timeout: { type: "string", value: "<seconds>", help: "The longest the run may take." },
  "read-only": { type: "boolean", help: "Take away the tools that change files." },
  "run-id": { type: "string", value: "<id>", help: "The run's name. Default: a new one." },
  ...storeOption,
  quiet: { type: "boolean", help: "Print the answer only." },
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Run a task to its end. A task of - is read from stdin.",
  usage: "[options] <task…>",
  options,
  notes: [
    "Without a key in the environment (ANTHROPIC_API_KEY) the model is offline: rules, not an LLM.",
    "Ctrl-C lets the current step finish; pressed again, it stops at once. Nothing on record is lost.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 paused, 130 cancelled.",
  ],
  async run(args, output) {
    try {
      return await runTask(args, output)
    } catch (error) {
      if (!asksFor("json", args) || !LonghaulError.is(error)) throw error
      output.printJson(await resultWithoutRun(args, error))
      return error instanceof UsageError ? 2 : exitCodes.failed
    }
  },
}

const exitCodes: Readonly<Record<RunStatus, number>> = { done: 0, failed: 1, paused: 3, cancelled: 130 }

/** A timer cannot wait longer. */
const longestSeconds = 2_147_483

async function runTask(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = parseCommandLine("run", args, options)
  const turns = numberOption("max-turns", values["max-turns"], { from: 1, to: 1_000_000, whole: true })
  const seconds = numberOption("timeout", values.timeout, { from: 0.001, to: longestSeconds, whole: false })
  const task = await readTask(positionals)
  const workspace = resolve(values.workspace ?? ".")
  const runtime = await openRuntime(workspace, values)
  const progress = progressFor(output, { json: values.json ?? false, quiet: values.quiet ?? false })

  const handle = runtime.stream({
    task,
    ...(values.system !== undefined && { system: values.system }),
    ...(values["run-id"] !== undefined && { runId: values["run-id"] }),
    limits: {
      ...(turns !== undefined && { turns }),
      ...(seconds !== undefined && { timeMs: Math.round(seconds * 1000) }),
    },
  })
  const result = await follow(handle, progress, output)

  if (values.json) output.printJson(result)
  else if (values.quiet) printAnswer(result, output)
  else printEnding(result, workspace, values.store, output)
  return exitCodes[result.status]
}

async function openRuntime(
  workspace: string,
  values: { readonly model?: string; readonly store?: string; readonly "read-only"?: boolean },
): Promise<Runtime> {
  const { createRuntime, fsStore } = await import("../../hosts/node/index.ts")
  const { defaultModelName } = await import("../../hosts/node/model-names.ts")
  return createRuntime({
    workspace,
    model: values.model ?? defaultModelName() ?? "offline",
    ...(values.store !== undefined && { store: fsStore(values.store) }),
    ...(values["read-only"] && { disabledTools: ["Write"] }),
  })
}

async function readTask(positionals: readonly string[]): Promise<string> {
  const given = positionals.length === 1 && positionals[0] === "-" ? await readStdin() : positionals.join(" ")
  if (given.trim() !== "") return given
  throw new UsageError("run needs a task.", `Say what to do: ${invocation()} run "List the files here".`)
}

async function readStdin(): Promise<string> {
  const { text } = await import("node:stream/consumers")
  return (await text(process.stdin)).trim()
}

function progressFor(output: Output, { json, quiet }: { json: boolean; quiet: boolean }): Progress {
  const { stdout, stderr, colours, errorColours } = output
  const canDraw = process.env.TERM !== "dumb"
  if (json || quiet) {
    const screen = stderr.isTTY && canDraw && !quiet ? liveScreen(stderr) : plainScreen(stderr)
    return createProgress({ screen, colours: errorColours, statusOnly: true })
  }
  const terminal = [stdout, stderr].find(({ isTTY }) => isTTY && canDraw)
  return createProgress({ screen: terminal ? liveScreen(terminal, stdout) : plainScreen(stdout), colours })
}

async function follow(handle: RunHandle, progress: Progress, output: Output): Promise<RunResult> {
  const giveBackSignals = onSignals(
    (mode) => handle.interrupt(mode),
    (text) => progress.say(text),
  )
  output.onReaderGone(() => handle.interrupt("immediate"))
  try {
    for await (const event of handle) progress.onEvent(event)
    return await handle.result
  } finally {
    progress.close()
    giveBackSignals()
  }
}

function printAnswer(result: RunResult, output: Output): void {
  if (result.text !== "") output.print(visible(result.text))
  printError(result, output)
}

function printError({ error }: RunResult, output: Output): void {
  if (error === undefined) return
  const fix = optionFixes[error.code] ?? error.fix
  for (const line of failureLines({ ...error, ...(fix !== undefined && { fix }) }, output.errorColours)) {
    output.complain(line)
  }
}

/** Where the library's advice names a setting that is an option here. */
const optionFixes: Partial<Record<ErrorCode, string>> = {
  max_turns: "Raise --max-turns.",
  run_timeout: "Raise --timeout.",
}

/** What came of it, where it is kept, and what to do next. */
function printEnding(result: RunResult, workspace: string, store: string | undefined, output: Output): void {
  const { colours } = output
  const row = (name: string, text: string) => output.print(`${colours.dim(name.padEnd(9))}${text}`)
  const words = [
    result.runId,
    counted(result.turns, "turn"),
    tokens(totalTokens(result.usage)),
    duration(result.durationMs),
    ...(result.model === null ? [] : [modelLabel(result.model)]),
  ]
  output.print("")
  output.print(`${statusLabel(result.status, colours)} ${words.join(" · ")}`)
  printError(result, output)
  for (const path of writtenFiles(result, workspace)) row("wrote", visible(path))
  if (result.transcript.lastShard < 0) return
  row("journal", result.transcript.path)
  const self = invocation()
  const at = store === undefined ? "" : ` --store ${shellWord(store)}`
  row("next", `${self} show ${result.runId}${at}  # every step of this run, from its journal`)
  row("", `${self} runs${at}  # all runs`)
  if (result.model === "offline") row("", `ANTHROPIC_API_KEY=… ${self} run "…"  # a task for an LLM instead of rules`)
}

function writtenFiles({ toolCalls }: RunResult, workspace: string): readonly string[] {
  const paths = toolCalls.flatMap(({ name, status, args }) => {
    const isWrite = name === "Write" && status === "ok" && typeof args === "object" && args !== null && "path" in args
    return isWrite ? [relative(process.cwd(), join(workspace, String(args.path)))] : []
  })
  return [...new Set(paths)]
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** The one kind of result, for a run that could not be started at all. */
async function resultWithoutRun(args: readonly string[], error: LonghaulError): Promise<RunResult> {
  const { resultWithout } = await import("../../journal/result.ts")
  const { newRunId } = await import("../../lib/id.ts")
  const given = args[args.indexOf("--run-id") + 1]
  const runId = args.includes("--run-id") && given !== undefined ? given : newRunId()
  return resultWithout("failed", { workspaceId: "default", runId, nodeId: "main" }, error, "")
}
