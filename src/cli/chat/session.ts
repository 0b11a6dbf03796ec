import { LonghaulError } from "../../contract/error.ts"
import type { RunResult, ToolCallRecord } from "../../contract/result.ts"
import type { RunHandle, RunState } from "../../contract/run.ts"
import { type Ask, decidedInline, openCalls } from "../approval/inline-approval.ts"
import { invocation } from "../arguments.ts"
import { follow, printsJson, progressFor, type WatchChoice } from "../follow.ts"
import { clip, counted, duration, failureLines, shellWord, spending, statusLabel } from "../format.ts"
import type { Output } from "../output.ts"
import { exitCodes, printError, printPause } from "../print-result.ts"
import type { Progress } from "../progress.ts"
import type { Conversation } from "./conversation.ts"
import { slashReply } from "./slash-commands.ts"

/** Handles input lines, whatever their source. */
export interface ChatSession {
  /** Exit code of the last exchange. */
  readonly code: number
  /** The last exchange waits for a decision, so the conversation cannot continue. */
  readonly isPaused: boolean
  readonly working: boolean
  /** The last line ended in a backslash, so its message is incomplete. */
  readonly continues: boolean
  /** Resolves when all work caused by the line is done. False: the session has ended. */
  take(line: string): Promise<boolean>
  /** Finishes an exchange that another process left paused or running. False: the session has ended. */
  settle(state: RunState): Promise<boolean>
  /** Submits an incomplete message as it is. */
  finish(): Promise<void>
  /** Handles a line that arrives while a run works. Returns the part to handle later. */
  aside(line: string): string | undefined
  /** Ends the session and cancels any running work immediately. */
  leave(): void
}

export interface SessionOptions {
  readonly output: Output
  readonly watch: WatchChoice
  /** A person is at a terminal: a cancelled run does not end the session. */
  readonly interactive: boolean
  /** Asks the person about the pending decision of an exchange. */
  readonly ask?: Ask
  /** The store of the conversation, if it is not the default. */
  readonly store?: string | undefined
  /** Input shown while a run works. */
  readonly typed?: () => string
}

export function createSession(conversation: Conversation, options: SessionOptions): ChatSession {
  const { watch, interactive, typed, ask, store } = options
  const json = printsJson(watch)
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
  let isWorking = false
  let isPaused = false
  let isOver = false
  let code = 0

  async function show(handle: RunHandle, open: readonly ToolCallRecord[] = []): Promise<RunResult> {
    const progress = progressFor(output, { ...watch, headless: true, open, ...(typed && { typed }) })
    work = { handle, progress }
    return follow(handle, progress, output)
  }

  /** Runs one exchange to its end, including all decisions on the way. */
  async function exchange(begin: () => Promise<RunResult>): Promise<RunResult | undefined> {
    isWorking = true
    try {
      const result = await decidedInline(await begin(), conversation.runtime, ask, show)
      finish(result)
      return result
    } catch (error) {
      if (!LonghaulError.is(error)) throw error
      code = exitCodes.failed
      if (json) output.printJson({ error: error.toJSON() })
      else for (const line of failureLines(error.toJSON(), errorColours)) output.complain(line)
      return undefined
    } finally {
      isWorking = false
      work = undefined
    }
  }

  function finish(result: RunResult): void {
    conversation.remember(result)
    code = exitCodes[result.status]
    isPaused = result.status === "paused"
    if (isPaused || (result.status === "cancelled" && !interactive)) isOver = true
    if (json) {
      output.printJson(result)
      return
    }
    printError(result, output)
    if (result.pause) printWaiting(result)
    if (!interactive) return
    const words = [counted(result.turns, "turn"), spending(result.usage), duration(result.durationMs)]
    output.print(`${statusLabel(result.status, colours)} ${colours.dim(words.join(" · "))}\n`)
  }

  function printWaiting(result: RunResult): void {
    const at = store === undefined ? "" : ` --store ${shellWord(store)}`
    if (result.pause) printPause(result, result.pause, at, output)
    output.print(`${" ".repeat(9)}${invocation()} chat --continue ${result.runId}${at}`)
  }

  async function takeMessage(text: string): Promise<void> {
    if (text.trim() === "" || isOver) return
    const reply = slashReply(text, conversation, { working: false, colours: json ? errorColours : colours })
    if (reply === undefined) {
      await exchange(async () => show(await conversation.say(text)))
      return
    }
    for (const line of reply.lines) json ? output.complain(line) : output.print(line)
    if (reply.exit) isOver = true
  }

  return {
    get code() {
      return code
    },
    get isPaused() {
      return isPaused
    },
    get working() {
      return isWorking
    },
    get continues() {
      return message.continues
    },
    async take(line) {
      const text = message.add(line)
      if (text !== undefined) await takeMessage(text)
      return !isOver
    },
    async settle(state) {
      const { runId, nodeId, toolCalls } = state
      if (state.status === "paused") await exchange(async () => state)
      if (state.status === "running") {
        const resumed = conversation.runtime.resumeStream({ runId, nodeId })
        const result = await exchange(() => show(resumed, openCalls(toolCalls)))
        // Another process is running it.
        if (result === undefined || result.transcript.lastShard < 0) isOver = true
      }
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
      const isDelivered = handle.steer(text)
      progress.say(
        `» ${clip(text, 200)}${isDelivered ? " (sent to the model before its next turn)" : " (too late for this run: sent as the next message)"}`,
      )
      return isDelivered ? undefined : text
    },
    leave() {
      isOver = true
      code = exitCodes.cancelled
      work?.handle.interrupt("immediate")
    },
  }
}

/** Joins lines that end in a backslash. */
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
