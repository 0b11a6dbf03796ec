import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import { visible } from "../format.ts"
import type { TextStream } from "../output.ts"

/** Where a person types. */
export interface Prompt {
  /** The next line; undefined: there will be none. */
  next(sign: string): Promise<string | undefined>
  /** A line that is typed after this is called: nothing typed before. Undefined: Ctrl-C, or the end of input. */
  ask(sign: string): Promise<string | undefined>
  /** What stands there unfinished, as the end of it that fits the terminal. */
  typed(): string
  /** A remark between two lines, while one is being waited for; what was typed of it is gone. */
  remark(text: string): void
  close(): void
}

export interface PromptOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: TextStream
  /** Lines can be edited in place; otherwise the terminal itself shows what is typed. */
  readonly draws: boolean
  /** Gets a line that nobody waits for. What it answers comes when the next one is asked for. */
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
  // Keys are read raw, so it is for us to make the signal that the terminal would have made.
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
 * Passes on what readline draws while a line is waited for: at other times others draw on the terminal. Unlimited columns
 * keep readline from thinking that what it could not show has taken several rows.
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

/** Until what the terminal held back has been read: the event loop has looked for input at least once since. */
function pendingInput(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}
