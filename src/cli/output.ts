import picocolors from "picocolors"
import { withEscapes } from "../lib/text/hidden-characters.ts"

/** The subset of a stream that the command line needs, so that tests can replace the terminal. */
export interface TextStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

export type Colours = ReturnType<typeof picocolors.createColors>

/** The destination of all command line output. */
export interface Output {
  readonly stdout: TextStream
  readonly stderr: TextStream
  /** For stdout; plain text if it is not a terminal. */
  readonly colours: Colours
  readonly errorColours: Colours
  /** One line on stdout. */
  print(line: string): void
  /** One line on stderr, unless stdout was closed: `longhaul … | head` ends without a message. */
  complain(line: string): void
  /** One JSON value on one line of stdout. */
  printJson(value: unknown): void
  /** Called once when stdout is closed; without a handler, that ends the process quietly. */
  onReaderGone(listener: () => void): void
  /** Resolves when all output has left the process. */
  drained(): Promise<void>
}

export function standardOutput(): Output {
  const { stdout, stderr, env } = process
  let isReaderGone = false
  let readerGone: () => void = () => process.exit()
  stdout.on("error", () => {
    if (!isReaderGone) readerGone()
    isReaderGone = true
  })
  // Without stderr the error cannot be reported.
  stderr.on("error", () => {})
  return {
    stdout,
    stderr,
    colours: coloursFor(stdout, env),
    errorColours: coloursFor(stderr, env),
    print: (line) => stdout.write(`${line}\n`),
    complain(line) {
      if (!isReaderGone) stderr.write(`${line}\n`)
    },
    printJson: (value) => stdout.write(`${withEscapes(JSON.stringify(value))}\n`),
    onReaderGone(listener) {
      readerGone = listener
    },
    drained: async () => {
      await Promise.all([stdout, stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))))
    },
  }
}

/** False: lines stay where they are written, and nothing is drawn in place. */
export function mayDraw({ NO_COLOR, TERM }: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return !NO_COLOR && TERM !== "dumb"
}

/** picocolors alone would also colour pipes if CI is set. NO_COLOR takes precedence over FORCE_COLOR. */
function coloursFor(stream: TextStream, variables: Readonly<Record<string, string | undefined>>): Colours {
  const { NO_COLOR, FORCE_COLOR } = variables
  const forced = FORCE_COLOR ? !/^(0|false)$/.test(FORCE_COLOR) : undefined
  return picocolors.createColors(!NO_COLOR && (forced ?? (stream.isTTY === true && mayDraw(variables))))
}

/** The same output, with each printed line further to the right. */
export function indented(output: Output, indent: string): Output {
  const lines = (text: string) => text.replaceAll(/^(?=.)/gm, indent)
  return { ...output, print: (text) => output.print(lines(text)) }
}
