import type { Deadlines, LineChannel } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { delay } from "../../lib/abort.ts"
import { isJsonObject } from "../../lib/json.ts"
import { Inbox } from "../claude/inbox.ts"
import { closeProgram, exitOf, failsOpen, whyNotOpened } from "../claude/program.ts"
import { objectIn, textIn } from "../claude/translate.ts"
import {
  type ClaudeProgram,
  type Delivery,
  hookOutput,
  MAX_DECISION_S,
  permitOutput,
  questionIn,
  userMessage,
} from "../claude/wire.ts"

/** The control protocol of `claude -p` over its standard input and output. */
export class ControlProtocol {
  readonly #channel: LineChannel
  readonly #deadlines: Deadlines
  readonly #inbox = new Inbox<Delivery>()
  readonly #replies = new Map<string, (reply: JsonObject) => void>()
  /** Resolves when nothing more can be read. */
  readonly #reading: Promise<void>
  #count = 0
  /** The program takes no more input: it has ended, or is about to. */
  #isDeaf = false

  constructor(channel: LineChannel, deadlines: Deadlines) {
    this.#channel = channel
    this.#deadlines = deadlines
    this.#reading = this.#read()
  }

  /** Registers the hook. Rejects if the program cannot make it fail closed. */
  async open(options: JsonObject): Promise<ClaudeProgram> {
    const matcher = { matcher: "*", hookCallbackIds: ["gate"], timeout: MAX_DECISION_S, onFailure: "block" }
    const request = { ...options, subtype: "initialize", hooks: { PreToolUse: [matcher] } }
    const reply = await this.#request(request, this.#deadlines.openMs)
    if (reply === undefined)
      throw await whyNotOpened(this.#inbox, this.#channel, { stopMs: this.#deadlines.stopMs, isDeaf: this.#isDeaf })
    const response = objectIn(reply, "response")
    if (reply.subtype !== "success" || response.hook_on_failure_supported !== true) throw failsOpen()
    return this.#program(textIn(response, "claude_code_version"))
  }

  #program(version: string): ClaudeProgram {
    const channel = this.#channel
    return {
      version,
      next: () => this.#inbox.next(),
      send: (content, id) => channel.send(JSON.stringify(userMessage(content, id))),
      interrupt: async () => {
        await this.#request({ subtype: "interrupt" }, this.#deadlines.replyMs)
      },
      usage: async () => {
        const reply = await this.#request({ subtype: "get_usage", skip_behaviors: true }, this.#deadlines.replyMs)
        return reply?.response
      },
      ended: exitOf(channel),
      close: () => closeProgram(channel, this.#deadlines.stopMs),
      kill: () => channel.end("kill"),
    }
  }

  /** Undefined: there was no reply in time, or none can come. */
  async #request(request: Json, withinMs: number): Promise<JsonObject | undefined> {
    const id = `longhaul-${++this.#count}`
    const answered = new AbortController()
    const reply = new Promise<JsonObject>((resolve) => this.#replies.set(id, resolve))
    const late = delay(withinMs, answered.signal).then(() => undefined)
    const over = this.#reading.then(() => undefined)
    try {
      await this.#channel.send(JSON.stringify({ type: "control_request", request_id: id, request }))
      return await Promise.race([reply, late, over])
    } catch {
      this.#isDeaf = true
      return undefined
    } finally {
      answered.abort()
      this.#replies.delete(id)
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const line of this.#channel.lines) if (line.trim() !== "") this.#receive(line)
      this.#inbox.end()
    } catch (error) {
      this.#inbox.end({ error })
    }
  }

  #receive(line: string): void {
    const message = parsed(line)
    switch (message.type) {
      case "control_response": {
        const response = objectIn(message, "response")
        this.#replies.get(textIn(response, "request_id"))?.(response)
        break
      }
      case "control_request":
        this.#question(textIn(message, "request_id"), objectIn(message, "request"))
        break
      case "control_cancel_request":
        break
      default:
        this.#inbox.push({ kind: "message", message })
    }
  }

  #question(id: string, request: JsonObject): void {
    const reply = (response: Json) => this.#reply({ subtype: "success", request_id: id, response })
    if (request.subtype === "hook_callback") {
      const input = objectIn(request, "input")
      const question = questionIn(input, input.tool_input)
      this.#inbox.push({ kind: "hook", question, answer: (answer) => reply(hookOutput(answer)) })
    } else if (request.subtype === "can_use_tool") {
      const question = questionIn(request, request.input)
      this.#inbox.push({ kind: "permit", question, answer: (answer) => reply(permitOutput(answer)) })
    } else {
      this.#reply({ subtype: "error", request_id: id, error: "This host does not answer that." })
    }
  }

  #reply(response: Json): void {
    // A program that has ended needs no answer.
    this.#channel.send(JSON.stringify({ type: "control_response", response })).catch(() => {})
  }
}

function parsed(line: string): JsonObject {
  try {
    const message: unknown = JSON.parse(line)
    if (isJsonObject(message)) return message
  } catch {
    // Reported below.
  }
  throw new LonghaulError("backend_protocol", `Claude wrote a line that is not a message: ${line.slice(0, 80)}`, {
    fix: "Check that nothing else writes to its standard output.",
  })
}
