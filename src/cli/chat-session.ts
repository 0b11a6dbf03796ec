import type { RunHandle } from "../contract/run.ts"
import { slashReply } from "./chat-words.ts"
import type { Conversation } from "./conversation.ts"
import { exitCodes, printError, printPause } from "./ending.ts"
import { follow, progressFor } from "./follow.ts"
import { clip, counted, duration, spending, statusLabel } from "./format.ts"
import type { Output } from "./output.ts"
import type { Progress } from "./progress.ts"

/** What lines do, wherever they come from. */
export interface ChatSession {
  /** The exit code of the last run. */
  readonly code: number
  readonly working: boolean
  /** The line before was not the end of its message. */
  readonly continues: boolean
  /** Resolves when all that the line led to is done. False: the session is over. */
  take(line: string): Promise<boolean>
  /** What is left of an unfinished message is one. */
  finish(): Promise<void>
  /** A line that comes while a run works. Answers what is left of it for later. */
  aside(line: string): string | undefined
  /** Ends the session, and at once whatever is under way. */
  leave(): void
}

export interface SessionOptions {
  readonly output: Output
  readonly json: boolean
  /** Somebody sits at a terminal: a run that was cancelled does not end the session. */
  readonly interactive: boolean
  /** What stands there while a run works. */
  readonly typed?: () => string
}

export function createSession(conversation: Conversation, options: SessionOptions): ChatSession {
  const { json, interactive, typed } = options
  const output: Output = {
    ...options.output,
    onReaderGone: (listener) =>
      options.output.onReaderGone(() => {
        isOver = true
        listener()
      }),
  }
  const { colours, errorColours } = output
  const message = joiner()
  let work: { readonly handle: RunHandle; readonly progress: Progress } | undefined
  let isOver = false
  let code = 0

  async function ask(text: string): Promise<void> {
    const progress = progressFor(output, { json, quiet: false, headless: true, ...(typed && { typed }) })
    const handle = conversation.say(text)
    work = { handle, progress }
    const result = await follow(handle, progress, output)
    work = undefined
    await conversation.remember(result)
    code = exitCodes[result.status]
    if (result.status === "cancelled" && !interactive) isOver = true
    if (json) {
      output.printJson(result)
      return
    }
    printError(result, output)
    if (result.pause) printPause(result, result.pause, "", output)
    if (!interactive) return
    const words = [counted(result.turns, "turn"), spending(result.usage), duration(result.durationMs)]
    output.print(`${statusLabel(result.status, colours)} ${colours.dim(words.join(" · "))}\n`)
  }

  async function takeMessage(text: string): Promise<void> {
    if (text.trim() === "" || isOver) return
    const reply = slashReply(text, conversation, { working: false, colours: json ? errorColours : colours })
    if (reply === undefined) return ask(text)
    for (const line of reply.lines) json ? output.complain(line) : output.print(line)
    if (reply.exit) isOver = true
  }

  return {
    get code() {
      return code
    },
    get working() {
      return work !== undefined
    },
    get continues() {
      return message.continues
    },
    async take(line) {
      const text = message.add(line)
      if (text !== undefined) await takeMessage(text)
      return !isOver
    },
    finish: () => takeMessage(message.end()),
    aside(line) {
      if (work === undefined) return line
      const { handle, progress } = work
      const text = message.add(line)
      if (text === undefined || text.trim() === "") return undefined
      const reply = slashReply(text, conversation, { working: true, colours: errorColours })
      for (const each of reply?.lines ?? []) progress.say(each)
      if (reply?.exit) {
        isOver = true
        progress.say("Leaving once the current step is finished.")
        handle.interrupt("graceful")
      }
      if (reply) return undefined
      const isHeard = handle.steer(text)
      progress.say(
        `» ${clip(text, 200)}${isHeard ? " (told before its next turn)" : " (too late for this run: comes next)"}`,
      )
      return isHeard ? undefined : text
    },
    leave() {
      isOver = true
      code = exitCodes.cancelled
      work?.handle.interrupt("immediate")
    },
  }
}

/** Puts lines together that end in a backslash. */
function joiner() {
  let begun = ""
  return {
    get continues() {
      return begun !== ""
    },
    add(line: string): string | undefined {
      const text = `${begun}${line}`
      begun = text.endsWith("\\") ? `${text.slice(0, -1)}\n` : ""
      return begun === "" ? text : undefined
    },
    end(): string {
      const text = begun
      begun = ""
      return text
    },
  }
}
