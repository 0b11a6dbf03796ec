import type { Files } from "../../contract/env.ts"
import type { Json } from "../../contract/json.ts"
import type { Pause, PausedResult, PendingToolCall, RunResult, ToolCallRecord } from "../../contract/result.ts"
import type { ResumeInput, RunHandle } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import { openPrompt, type Prompt } from "../chat/prompt.ts"
import { visible } from "../format.ts"
import { type Colours, mayDraw, type Output, type TextStream } from "../output.ts"
import { type PreviewLine, previewCall, previewRows } from "./call-preview.ts"

/** Returns a person's decision about a paused run. Undefined: no decision was made and the run stays paused. */
export type Ask = (paused: Pick<PausedResult, "runId" | "pause">) => Promise<Decision | undefined>

export type Decision = Pick<ResumeInput, "decision" | "answer" | "args" | "ticket">

export interface AskOptions {
  /** Reads one line typed after the question. Undefined: Ctrl-C or end of input. */
  readonly readLine: Prompt["ask"]
  readonly terminal: TextStream
  readonly colours: Colours
  readonly files: Files
  /** The working directory of the run's tools. */
  readonly cwd: string
  /** The word shown to the person: run or conversation. */
  readonly scope: string
}

/** Asks at the terminal, showing exactly what would run before the question. */
export function askInline(options: AskOptions): Ask {
  const { readLine, terminal, colours, scope } = options
  const write = (line: string) => terminal.write(`${line}\n`)
  const width = () => Math.max(20, terminal.columns ?? 80) - 1
  const writeRows = (lines: readonly PreviewLine[], most: number) => {
    const rows = previewRows(lines, width(), colours)
    for (const row of rows.slice(0, most)) write(row)
    if (rows.length > most) write(colours.yellow(`… ${rows.length - most} more rows not shown; v shows all`))
    return rows.length > most
  }

  async function answerTo({ question, ticket, by }: PendingToolCall): Promise<Decision | undefined> {
    writeRows(paragraph(question), Number.POSITIVE_INFINITY)
    for (;;) {
      const line = await readLine(by === "tool" ? "answer, or /deny: " : "answer: ")
      if (line === undefined) return undefined
      if (by === "tool" && line.trim() === "/deny") return { decision: "deny", ticket }
      if (line.trim() !== "") return { answer: line, ticket }
    }
  }

  async function decideOn(call: PendingToolCall, reason: Pause["reason"]): Promise<Decision | undefined> {
    const { name, ticket, question, always } = call
    for (;;) {
      const preview = await previewCall(call, options)
      write("")
      // Without a rule, the question only says that the call needs approval.
      if (!always) writeRows(paragraph(question), Number.POSITIVE_INFINITY)
      const isCut = writeRows(preview, mostRows)
      const again = reason === "unknown_outcome" ? " again" : ""
      const choices = [
        { sign: "y", text: `run it${again}` },
        { sign: "n", text: "deny it; you can add a reason" },
        ...(always ? [{ sign: "a", text: `always allow ${always.command ?? name} in this ${scope}` }] : []),
        { sign: "e", text: "edit the arguments, then run it" },
        ...(isCut ? [{ sign: "v", text: "show everything" }] : []),
      ]
      writeRows(choices, Number.POSITIVE_INFINITY)
      const word = await choice(
        choices.map(({ sign }) => sign),
        () => writeRows(preview, Number.POSITIVE_INFINITY),
      )
      if (word === undefined) return undefined
      if (word.letter === "n") {
        const why = word.rest === "" ? await readLine("reason, or Enter for none: ") : word.rest
        if (why === undefined) return undefined
        return { decision: "deny", ticket, ...(why.trim() !== "" && { answer: why.trim() }) }
      }
      if (word.letter === "e") {
        const args = await editedArguments(options)
        if (args === undefined) continue
        return { decision: "approve", args, ticket }
      }
      // A file may have changed while the question was open; the answer would then apply to a different change.
      if (JSON.stringify(await previewCall(call, options)) !== JSON.stringify(preview)) {
        write(colours.yellow("The files have changed: this is no longer what was shown."))
        continue
      }
      return { decision: word.letter === "a" ? "always" : "approve", ticket }
    }
  }

  async function choice(letters: readonly string[], showAll: () => void) {
    for (;;) {
      const line = await readLine(`${letters.join("/")}? `)
      if (line === undefined) return undefined
      const [word = "", ...rest] = line.trim().split(/\s+/)
      const letter = letters.find((each) => each === word.toLowerCase() || names[each] === word.toLowerCase())
      if (letter === "v") showAll()
      else if (letter === "n" || (letter !== undefined && rest.length === 0)) return { letter, rest: rest.join(" ") }
      else if (word !== "") write(`Type one of: ${letters.join(", ")}.`)
    }
  }

  return async ({ pause }) => {
    const call = pause.pendingToolCall
    if (call === null) return undefined
    return pause.reason === "input" ? answerTo(call) : decideOn(call, pause.reason)
  }
}

/** Undefined: the person entered nothing, and the question is shown again. */
async function editedArguments({ readLine, terminal, colours }: AskOptions): Promise<Json | undefined> {
  for (;;) {
    const line = await readLine("arguments as JSON, or Enter to go back: ")
    if (line === undefined || line.trim() === "") return undefined
    try {
      // Safe: parsed JSON.
      return JSON.parse(line) as Json
    } catch (error) {
      const why = error instanceof Error ? visible(error.message) : "unreadable"
      terminal.write(`${colours.yellow(`Invalid JSON: ${why}`)}\n`)
    }
  }
}

/** Undefined: there is no terminal, or a program reads the output. */
export function askAtTerminal(
  output: Output,
  place: Pick<AskOptions, "files" | "cwd"> & { readonly machine: boolean },
): Ask | undefined {
  const terminal = [output.stdout, output.stderr].find(({ isTTY }) => isTTY)
  if (terminal === undefined || place.machine || !process.stdin.isTTY) return undefined
  const colours = terminal === output.stdout ? output.colours : output.errorColours
  return askInline({ ...place, readLine: readLineFrom(process.stdin, terminal), terminal, colours, scope: "run" })
}

/** The prompt is open only while a question is shown; at other times Ctrl-C must reach the run. */
function readLineFrom(input: NodeJS.ReadableStream, terminal: TextStream): Prompt["ask"] {
  return async (sign) => {
    const prompt = openPrompt({ input, terminal, draws: mayDraw(), aside: () => undefined })
    try {
      return await prompt.ask(sign)
    } finally {
      prompt.close()
    }
  }
}

/** Resumes a run in this process for as long as it pauses and a person decides. */
export async function decidedInline(
  first: RunResult,
  runtime: Runtime,
  ask: Ask | undefined,
  show: (handle: RunHandle, open: readonly ToolCallRecord[]) => Promise<RunResult>,
): Promise<RunResult> {
  let result = first
  while (result.status === "paused" && ask) {
    const decision = await ask(result)
    if (decision === undefined) break
    const { runId, nodeId, toolCalls } = result
    result = await show(runtime.resumeStream({ runId, nodeId, ...decision }), openCalls(toolCalls))
  }
  return result
}

/** The calls that have no result yet. */
export function openCalls(calls: readonly ToolCallRecord[]): readonly ToolCallRecord[] {
  return calls.filter(({ status }) => status === "pending")
}

/** Fits most terminals below the run's output. */
const mostRows = 30

const names: Readonly<Record<string, string>> = { y: "yes", n: "no", a: "always", e: "edit", v: "view" }

function paragraph(text: string): readonly PreviewLine[] {
  return visible(text)
    .split("\n")
    .map((line) => ({ sign: "?", text: line }))
}
