import type {
  AssistantMessage,
  Message,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../../contract/message.ts"

/**
 * The conversation, always in a form that every provider accepts: it starts with the user, roles alternate, nothing is
 * empty, each call has exactly one result in the next message. New messages are normalised on arrival; unchanged
 * messages keep their identity.
 */
export class Dialogue {
  readonly #messages: Message[] = []

  constructor(messages: readonly Message[] = []) {
    for (const message of messages) this.add(message)
  }

  /** Always the same array; its messages never change. */
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

  /** Drops results without a call, and adds an error result to calls without one. */
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
