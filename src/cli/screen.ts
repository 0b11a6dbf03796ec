import { visible } from "./format.ts"
import type { TextStream } from "./output.ts"

/** Where a run's progress is shown: permanent lines, and on a terminal a status line below them. */
export interface Screen {
  /** True if text can be shown while it streams; otherwise only whole lines are useful. */
  readonly streams: boolean
  line(text: string): void
  /** Text that continues the previous one. Control characters in it are made visible. */
  stream(text: string): void
  /** Ends a streamed text that stopped inside a line. */
  endText(): void
  /** Called each time the status is drawn; each of its lines is cut to the terminal's width. */
  setStatus(describe: (frame: number) => string): void
  /** Writes buffered text and removes the status. */
  close(): void
}

/** Lines only, for pipes and files. */
export function plainScreen(out: TextStream): Screen {
  return {
    streams: false,
    line: (text) => out.write(`${text}\n`),
    stream: () => {},
    endText: () => {},
    setStatus: () => {},
    close: () => {},
  }
}

/**
 * A terminal. Permanent lines go to `out`; the last, unfinished line of a streamed text and the status line below it
 * are drawn on `terminal` in place, at most ten times a second. `out` is a different stream if only one of the two is a
 * terminal; text is then shown as lines.
 */
export function liveScreen(terminal: TextStream, out: TextStream = terminal): Screen {
  let incoming = ""
  let unfinished = ""
  let drawnLines = 0
  let frame = 0
  let describe: ((frame: number) => string) | undefined
  const timer = setInterval(() => {
    frame++
    draw("")
  }, drawEveryMs)
  // An unclosed screen must not keep the process running.
  timer.unref()

  const width = () => Math.max(20, terminal.columns || 80) - 1

  const fitted = (text: string) => (out === terminal ? wrap(text, width()).join("\n") : text)

  /** Inserts lines above the status and redraws the status. */
  function draw(lines: string): void {
    const finished = lines === "" ? takeFinished() : `${takeFinished()}${takeUnfinished()}${lines}`
    const drawn = [
      ...(unfinished === "" ? [] : [unfinished]),
      ...(describe ? describe(frame).split("\n") : []).map((line) => wrap(line, width())[0] ?? ""),
    ]
    const erase = drawnLines === 0 ? "" : `${drawnLines > 1 ? `\x1b[${drawnLines - 1}A` : ""}\r\x1b[J`
    drawnLines = drawn.length
    if (out === terminal) {
      const picture = erase + finished + drawn.join("\n")
      if (picture !== "") terminal.write(picture)
      return
    }
    if (erase !== "") terminal.write(erase)
    if (finished !== "") out.write(finished)
    if (drawn.length > 0) terminal.write(drawn.join("\n"))
  }

  /** The lines completed by the streamed text, through line feeds or because the terminal is full. */
  function takeFinished(): string {
    const lines = `${unfinished}${incoming}`.split("\n").flatMap((line) => wrap(line, width()))
    incoming = ""
    unfinished = lines.pop() ?? ""
    return lines.map((line) => `${line}\n`).join("")
  }

  function takeUnfinished(): string {
    const text = unfinished
    unfinished = ""
    return text === "" ? "" : `${text}\n`
  }

  return {
    streams: out === terminal,
    line: (text) => draw(`${fitted(text)}\n`),
    stream(text) {
      incoming += visible(text).replaceAll("\t", "    ")
    },
    endText() {
      const text = `${unfinished}${incoming}`
      if (text !== "" && !text.endsWith("\n")) incoming += "\n"
    },
    setStatus(next) {
      describe = next
    },
    close() {
      clearInterval(timer)
      describe = undefined
      this.endText()
      draw("")
    },
  }
}

const drawEveryMs = 100

/** A line split into pieces that fit, at spaces where possible. */
export function wrap(line: string, width: number): string[] {
  const pieces: string[] = []
  let rest = line
  for (;;) {
    const end = fittingLength(rest, width)
    if (end === rest.length) return [...pieces, rest]
    const space = rest.lastIndexOf(" ", end)
    const cut = space > end / 2 ? space : end
    pieces.push(rest.slice(0, cut))
    rest = rest.slice(cut).replace(/^ /, "")
  }
}

/**
 * How many UTF-16 units fit. A character that may be two columns wide counts as two: a line that is too short does no
 * harm. Colours take no columns; no other escape gets here.
 */
export function fittingLength(text: string, width: number): number {
  let columns = 0
  let length = 0
  let isColour = false
  for (const character of text) {
    isColour ||= character === "\x1b"
    if (!isColour) columns += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2
    if (character === "m") isColour = false
    if (columns > width) return length
    length += character.length
  }
  return length
}
