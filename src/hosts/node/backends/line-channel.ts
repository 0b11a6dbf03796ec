import type { ChildProcessByStdio } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import type { LineChannel, ProgramExit } from "../../../contract/backend-env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { lastWords } from "../../../lib/text/before-cut.ts"
import { endProcesses, identify } from "../shell/process-sweep.ts"

interface ChannelOptions {
  /** The marker in the environment of all its processes. */
  readonly mark: string
  readonly name: string
  readonly stopMs: number
}

/** Lines from and to a running program. */
export function programChannel(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  { mark, name, stopMs }: ChannelOptions,
): LineChannel {
  const { stdin, stdout, stderr, pid } = child
  const since = pid === undefined ? undefined : identify(pid)
  let tail = ""
  let hasExited = false
  // A program that ends while it is written to: its exit says why.
  stdin.on("error", () => {})
  stderr.setEncoding("utf8").on("data", (text: string) => {
    // One character more than is shown: then it is known to be cut.
    tail = (tail + text).slice(-MAX_TAIL_LENGTH - 1)
  })
  const exit = new Promise<ProgramExit>((resolve) => {
    child.once("exit", (code, signal) => {
      hasExited = true
      // Processes that it left may hold its output open.
      const patience = setTimeout(() => stdout.destroy(), PATIENCE_MS)
      stdout.once("close", () => {
        clearTimeout(patience)
        resolve({ code, signal, stderr: lastWords(tail, MAX_TAIL_LENGTH) })
      })
      if (stdout.closed) resolve({ code, signal, stderr: lastWords(tail, MAX_TAIL_LENGTH) })
    })
  })

  async function end(how: "ask" | "kill"): Promise<void> {
    const group = pid === undefined || hasExited ? {} : { leader: pid }
    await endProcesses({ mark, since, ...group }, how === "ask" ? stopMs : 0)
    // The rest of its output is not read.
    stdout.resume()
    await exit
  }

  return {
    lines: linesOf(stdout, name),
    send: (line) =>
      new Promise((resolve, reject) => {
        stdin.write(`${line}\n`, (error) => (error ? reject(ended(name, error)) : resolve()))
      }),
    endInput: () => stdin.end(),
    end,
    exit,
  }
}

async function* linesOf(stdout: Readable, name: string): AsyncGenerator<string> {
  /** The beginning of a line. Joined once: a long one comes in thousands of chunks. */
  let begun: string[] = []
  let size = 0
  try {
    // Safe: an encoding is set, so the chunks are texts.
    for await (const chunk of stdout.setEncoding("utf8") as AsyncIterable<string>) {
      const [first = "", ...others] = chunk.split("\n")
      begun.push(first)
      size += first.length
      const rest = others.pop()
      if (rest !== undefined) {
        yield begun.join("")
        yield* others
        begun = [rest]
        size = rest.length
      }
      if (size > MAX_LINE_LENGTH) throw tooLong(name)
    }
  } catch (error) {
    // Destroyed after the exit of the program: what was read is all there is.
    if (LonghaulError.is(error)) throw error
  }
  if (size > 0) yield begun.join("")
}

function tooLong(name: string): LonghaulError {
  return new LonghaulError("backend_protocol", `${name} wrote a line of more than ${MAX_LINE_LENGTH} characters.`, {
    fix: "Resume the run. If it happens again, report it with the version of the program.",
  })
}

function ended(name: string, cause: Error): LonghaulError {
  return new LonghaulError("backend_crashed", `${name} has ended and takes no more input.`, { cause })
}

const MAX_TAIL_LENGTH = 8_000
const MAX_LINE_LENGTH = 64 * 1024 ** 2
const PATIENCE_MS = 1_000
