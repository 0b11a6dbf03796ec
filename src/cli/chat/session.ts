import { LonghaulError } from "../../contract/error.ts"
import type { RunResult, ToolCallRecord } from "../../contract/result.ts"
import type { RunHandle } from "../../contract/run.ts"
import type { RunState } from "../../contract/runtime.ts"
import { type Ask, decidedInline, openCalls } from "../approval/inline-approval.ts"
import { invocation } from "../arguments.ts"
import { follow, printsJson, progressFor, type WatchChoice } from "../follow.ts"
import { clip, counted, duration, failureLines, spending, statusLabel } from "../format.ts"
import type { Output } from "../output.ts"
import { exitCodes, printError, printPause } from "../print-result.ts"
import type { Progress } from "../progress.ts"
import type { Repeated } from "../repeated-options.ts"
import type { ChatConversation } from "./conversation.ts"
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
  /** The options of printed commands. */
  readonly repeated: Repeated
  /** Input shown while a run works. */
  readonly typed?: () => string
}

export function createSession(conversation: ChatConversation, options: SessionOptions): ChatSession {
  return new Session(conversation, options)
}

class Session implements ChatSession {
  code = 0
  isPaused = false
  working = false
  readonly #conversation: ChatConversation
  readonly #options: SessionOptions
  readonly #output: Output
  readonly #json: boolean
  readonly #message = joiner()
  #work: { readonly handle: RunHandle; readonly progress: Progress } | undefined
  #isOver = false

  constructor(conversation: ChatConversation, options: SessionOptions) {
    this.#conversation = conversation
    this.#options = options
    this.#json = printsJson(options.watch)
    this.#output = {
      ...options.output,
      onReaderGone: (listener) =>
        options.output.onReaderGone(() => {
          this.#isOver = true
          listener()
        }),
    }
  }

  get continues(): boolean {
    return this.#message.continues
  }

  async take(line: string): Promise<boolean> {
    const text = this.#message.add(line)
    if (text !== undefined) await this.#takeMessage(text)
    return !this.#isOver
  }

  async settle(state: RunState): Promise<boolean> {
    const { runId, nodeId, toolCalls } = state
    if (state.status === "paused") await this.#exchange(async () => state)
    if (state.status === "running") {
      const resumed = this.#conversation.runtime.resumeStream({ runId, nodeId })
      const result = await this.#exchange(() => this.#show(resumed, openCalls(toolCalls)))
      // Another process is running it.
      if (result === undefined || result.transcript.lastShard < 0) this.#isOver = true
    }
    return !this.#isOver
  }

  finish(): Promise<void> {
    return this.#takeMessage(this.#message.end())
  }

  aside(line: string): string | undefined {
    if (this.#work === undefined) return line
    const { handle, progress } = this.#work
    const text = this.#message.add(line)
    if (text === undefined || text.trim() === "") return undefined
    const reply = slashReply(text, this.#conversation, { working: true, colours: this.#output.errorColours })
    for (const each of reply?.lines ?? []) progress.say(each)
    if (reply?.exit) {
      this.#isOver = true
      progress.say("Leaving once the current step is finished.")
      handle.interrupt("graceful")
    }
    if (reply) return undefined
    const isDelivered = handle.steer(text)
    progress.say(
      `» ${clip(text, 200)}${isDelivered ? " (sent to the model before its next turn)" : " (too late for this run: sent as the next message)"}`,
    )
    return isDelivered ? undefined : text
  }

  leave(): void {
    this.#isOver = true
    this.code = exitCodes.cancelled
    this.#work?.handle.interrupt("immediate")
  }

  async #takeMessage(text: string): Promise<void> {
    if (text.trim() === "" || this.#isOver) return
    const { colours, errorColours } = this.#output
    const isJson = this.#json
    const reply = slashReply(text, this.#conversation, { working: false, colours: isJson ? errorColours : colours })
    if (reply === undefined) {
      await this.#exchange(async () => this.#show(await this.#conversation.say(text)))
      return
    }
    for (const line of reply.lines) isJson ? this.#output.complain(line) : this.#output.print(line)
    if (reply.exit) this.#isOver = true
  }

  /** Runs one exchange to its end, including all decisions on the way. */
  async #exchange(begin: () => Promise<RunResult>): Promise<RunResult | undefined> {
    this.working = true
    try {
      const show = (handle: RunHandle, open?: readonly ToolCallRecord[]) => this.#show(handle, open)
      const result = await decidedInline(await begin(), this.#conversation.runtime, this.#options.ask, show)
      this.#report(result)
      return result
    } catch (error) {
      if (!LonghaulError.is(error)) throw error
      this.code = exitCodes.failed
      if (this.#json) this.#output.printJson({ error: error.toJSON() })
      else for (const line of failureLines(error.toJSON(), this.#output.errorColours)) this.#output.complain(line)
      return undefined
    } finally {
      this.working = false
      this.#work = undefined
    }
  }

  async #show(handle: RunHandle, open: readonly ToolCallRecord[] = []): Promise<RunResult> {
    const { watch, typed } = this.#options
    const progress = progressFor(this.#output, { ...watch, headless: true, open, typed })
    this.#work = { handle, progress }
    return follow(handle, progress, this.#output)
  }

  #report(result: RunResult): void {
    const { interactive } = this.#options
    const output = this.#output
    this.#conversation.remember(result)
    this.code = exitCodes[result.status]
    this.isPaused = result.status === "paused"
    if (this.isPaused || (result.status === "cancelled" && !interactive)) this.#isOver = true
    if (this.#json) {
      output.printJson(result)
      return
    }
    printError(result, output)
    if (result.pause) this.#printWaiting(result)
    if (!interactive) return
    const words = [counted(result.turns, "turn"), spending(result.usage), duration(result.durationMs)]
    output.print(`${statusLabel(result.status, output.colours)} ${output.colours.dim(words.join(" · "))}\n`)
  }

  #printWaiting(result: RunResult): void {
    const { repeated } = this.#options
    if (result.pause) printPause(result, result.pause, repeated, this.#output)
    this.#output.print(`${" ".repeat(9)}${invocation()} chat --continue ${result.runId}${repeated.all}`)
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
