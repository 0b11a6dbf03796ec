import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import { visible } from "../format.ts"
import type { TextStream } from "../output.ts"

/** The terminal input of a person. */
export interface Prompt {
  /** The next line; undefined: end of input. */
  next(sign: string): Promise<string | undefined>
  /** A line typed after this call, ignoring earlier input. Undefined: Ctrl-C or end of input. */
  ask(sign: string): Promise<string | undefined>
  /** The unfinished input: as much of its end as fits the terminal. */
  typed(): string
  /** A message printed while waiting for a line; discards the input typed so far. */
  remark(text: string): void
  close(): void
}

export interface PromptOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: TextStream
  /** Lines can be edited in place; otherwise the terminal echoes the input. */
  readonly draws: boolean
  /** Receives a line that arrives while no call waits for one. Its return value is delivered to the next call. */
  readonly aside: (line: string) => string | undefined
}

export function openPrompt({ input, terminal, draws, aside }: PromptOptions): Prompt {
  const held: string[] = []
  let waiting: ((line: string | undefined) => void) | undefined
  let isOver = false

  const gate = terminalGate(terminal, () => waiting !== undefined)
  const lines = createInterface({ input, output: gate, terminal: draws, crlfDelay: Number.POSITIVE_INFINITY })

  function give(line: string | undefined): void {
    const resolve = waiting
    waiting = undefined
    resolve?.(line)
  }

  lines.on("line", (line) => {
    if (waiting) {
      give(line)
      return
    }
    const later = aside(line)
    if (later !== undefined) held.push(later)
  })
  lines.on("close", () => {
    isOver = true
    if (waiting) terminal.write("\n")
    give(undefined)
  })
  // Keys are read in raw mode, so the terminal does not send the signal: send it here.
  lines.on("SIGINT", () => process.emit("SIGINT", "SIGINT"))

  function wait(sign: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      waiting = resolve
      lines.setPrompt(sign)
      lines.prompt(true)
    })
  }

  function clearLine(): void {
    if (draws) for (const name of ["e", "u"]) lines.write(null, { ctrl: true, name })
  }

  return {
    next(sign) {
      const line = held.shift()
      if (line !== undefined) terminal.write(`${sign}${visible(line)}\n`)
      return line !== undefined || isOver ? Promise.resolve(line) : wait(sign)
    },
    async ask(sign) {
      await pendingInput()
      if (isOver) return undefined
      const unfinished = lines.line
      clearLine()
      const leave = () => {
        terminal.write("\n")
        give(undefined)
      }
      process.once("SIGINT", leave)
      const line = await wait(sign)
      process.off("SIGINT", leave)
      if (!isOver && draws) {
        clearLine()
        lines.write(unfinished)
      }
      return line
    },
    typed: () => lines.line.slice(-Math.max(20, (terminal.columns ?? 80) - 4)),
    remark(text) {
      clearLine()
      terminal.write(`\n${text}\n`)
      lines.prompt()
    },
    close: () => lines.close(),
  }
}

/**
 * Passes on the output of readline while a call waits for a line; at other times other code draws on the terminal.
 * Unlimited columns keep readline from assuming that hidden input has taken several rows.
 */
function terminalGate(terminal: TextStream, isOpen: () => boolean): Writable {
  const gate = new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      if (isOpen()) terminal.write(String(text))
      done()
    },
  })
  return Object.defineProperty(gate, "columns", { get: () => (isOpen() ? terminal.columns : undefined) })
}

/** Resolves once input buffered by the terminal has been read: the event loop has polled for input at least once. */
function pendingInput(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
