import { fstatSync } from "node:fs"
import { OutputWindow } from "../lib/output-window.ts"
import { invocation, UsageError } from "./arguments.ts"
import { counted } from "./format.ts"
import type { Output } from "./output.ts"

/** The task from the command line, with what is piped in behind it. `-` alone: the input is the task. */
export async function readTask(positionals: readonly string[], output: Output): Promise<string> {
  const isInputAlone = positionals.length === 1 && positionals[0] === "-"
  const said = isInputAlone ? "" : positionals.join(" ").trim()
  const piped = isInputAlone || isPiped() ? await readInput(output) : ""
  if (said !== "") return piped.trim() === "" ? said : withInput(said, piped)
  if (piped.trim() !== "") return piped.trim()
  throw new UsageError("run needs a task.", `Say what to do: ${invocation()} run "List the files here".`)
}

/** The input between two lines of dashes that it does not hold itself: it cannot pass for a part of the task. */
export function withInput(task: string, input: string): string {
  let longest = 0
  for (const [dashes] of input.matchAll(/-+/g)) longest = Math.max(longest, dashes.length)
  const dashes = "-".repeat(Math.max(5, longest + 1))
  return `${task}\n\n${dashes} standard input ${dashes}\n${input.replace(/\n$/, "")}\n${dashes} end of standard input ${dashes}`
}

/** A shell gives us a pipe or a file. A Node program that starts us leaves a socket open, which may never end. */
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
  const remark = setTimeout(() => complain("Waiting for standard input to end; < /dev/null omits it."), remarkAfterMs)
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
    complain(`Standard input has ${counted(bytes, "byte")}: ${leftOutBytes} in its middle are left out of the task.`)
  }
  return text
}

function unfit(isTooLong: boolean): UsageError {
  const what = isTooLong ? `longer than ${mostRead / mebibyte} MB` : "not text"
  return new UsageError(
    `Standard input is ${what}.`,
    "Put it into a file: name it in the task for the tools to read, or give it with --attach.",
  )
}

const mebibyte = 1024 * 1024
const mostRead = 64 * mebibyte
const mostShown = mebibyte / 4
const remarkAfterMs = 2000
