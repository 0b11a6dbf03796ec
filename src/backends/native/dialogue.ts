import type {
  AssistantMessage,
  Message,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../../contract/message.ts"

/**
 * What was said, always in a form that every provider takes: it starts with the user, roles alternate, nothing is empty,
 * each call has its one result in the message right after it. Normalises what is new as it comes; messages that need
 * nothing keep their identity.
 */
export class Dialogue {
  readonly #messages: Message[] = []

  constructor(messages: readonly Message[] = []) {
    for (const message of messages) this.add(message)
  }

  /** The same array all along; its messages never change. */
  get messages(): readonly Message[] {
    return this.#messages
  }

  add(message: Message): void {
    if (message.role === "tool") {
      this.#addResults(message)
      return
    }
    this.#settleOpenCalls()
    const whole = withoutBlankText(message)
    if (whole.content.length === 0) return
    const last = this.#messages.at(-1)
    if (last === undefined && whole.role === "assistant") this.#messages.push(conversationSoFar)
    if (last?.role === "user" && whole.role === "user") {
      this.#replaceLast({ role: "user", content: [...last.content, ...whole.content] })
    } else if (last?.role === "assistant" && whole.role === "assistant") {
      this.#replaceLast({ role: "assistant", content: [...last.content, ...whole.content] })
    } else {
      this.#messages.push(whole)
    }
  }

  /** Results without their call are dropped, calls without a result get one that says so. */
  #addResults(message: ToolMessage): void {
    const calls = this.#openCalls()
    if (calls.length === 0) return
    const { content } = message
    const arePaired = calls.length === content.length && calls.every(({ callId }, at) => content[at]?.callId === callId)
    const paired = () => calls.map((call) => content.find(({ callId }) => callId === call.callId) ?? noResult(call))
    this.#messages.push(arePaired ? message : { role: "tool", content: paired() })
  }

  #settleOpenCalls(): void {
    const calls = this.#openCalls()
    if (calls.length > 0) this.#messages.push({ role: "tool", content: calls.map(noResult) })
  }

  #openCalls(): ToolCallPart[] {
    const last = this.#messages.at(-1)
    return last?.role === "assistant" ? last.content.filter((part) => part.type === "tool-call") : []
  }

  #replaceLast(message: Message): void {
    this.#messages[this.#messages.length - 1] = message
  }
}

const conversationSoFar: Message = { role: "user", content: [{ type: "text", text: "(The conversation so far.)" }] }

function withoutBlankText<M extends Exclude<Message, ToolMessage>>(message: M): M {
  const isBlank = (part: (AssistantMessage | UserMessage)["content"][number]) =>
    part.type === "text" && part.text.trim() === ""
  return message.content.some(isBlank)
    ? { ...message, content: message.content.filter((part) => !isBlank(part)) }
    : message
}

function noResult(call: ToolCallPart): ToolResultPart {
  return {
    type: "tool-result",
    callId: call.callId,
    ...(call.wireId !== undefined && { wireId: call.wireId }),
    status: "error",
    output: [{ type: "text", text: "No result was recorded for this call." }],
  }
}
