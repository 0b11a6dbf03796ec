import { fstatSync } from "node:fs"
import { OutputWindow } from "../lib/output-window.ts"
import { invocation, UsageError } from "./arguments.ts"
import { counted } from "./format.ts"
import type { Output } from "./output.ts"

/** The task from the command line, followed by piped input. `-` alone: the input is the task. */
export async function readTask(positionals: readonly string[], output: Output): Promise<string> {
  const isInputAlone = positionals.length === 1 && positionals[0] === "-"
  const said = isInputAlone ? "" : positionals.join(" ").trim()
  const piped = isInputAlone || isPiped() ? await readInput(output) : ""
  if (said !== "") return piped.trim() === "" ? said : withInput(said, piped)
  if (piped.trim() !== "") return piped.trim()
  throw new UsageError("Missing task.", `Run: ${invocation()} run "List the files here".`)
}

/** The input between two dashed lines that do not occur in it, so that it cannot pass for part of the task. */
export function withInput(task: string, input: string): string {
  let longest = 0
  for (const [dashes] of input.matchAll(/-+/g)) longest = Math.max(longest, dashes.length)
  const dashes = "-".repeat(Math.max(5, longest + 1))
  return `${task}\n\n${dashes} standard input ${dashes}\n${input.replace(/\n$/, "")}\n${dashes} end of standard input ${dashes}`
}

/** A shell provides a pipe or a file. A Node parent process leaves a socket open, which may never end. */
function isPiped(): boolean {
  if (process.stdin.isTTY) return false
  try {
    const stdin = fstatSync(0)
    return stdin.isFIFO() || stdin.isFile()
  } catch {
    return false
  }
}

async function readInput({ complain }: Output): Promise<string> {
  const window = new OutputWindow(mostShown)
  let bytes = 0
  const remark = setTimeout(
    () => complain("Waiting for standard input to end; use < /dev/null to skip it."),
    remarkAfterMs,
  )
  try {
    for await (const chunk of process.stdin) {
      bytes += chunk.length
      if (bytes > mostRead || chunk.includes(0)) throw unfit(bytes > mostRead)
      window.add(chunk)
    }
  } finally {
    clearTimeout(remark)
  }
  const { text, leftOutBytes } = window.take(false)
  if (leftOutBytes > 0) {
    complain(`Standard input has ${counted(bytes, "byte")}: ${leftOutBytes} in the middle are omitted from the task.`)
  }
  return text
}

function unfit(isTooLong: boolean): UsageError {
  const what = isTooLong ? `longer than ${mostRead / mebibyte} MB` : "not text"
  return new UsageError(
    `Standard input is ${what}.`,
    "Put it in a file: name it in the task for the tools to read, or pass it with --attach.",
  )
}

const mebibyte = 1024 * 1024
const mostRead = 64 * mebibyte
const mostShown = 256 * 1024
const remarkAfterMs = 2000
