import type { Message } from "../../contract/message.ts"

/** The first words of the message with which the end of an agent in the background reaches the one that started it. */
export const AGENT_ENDED = "An agent that you started in the background has ended."
/** The first characters of a message that an agent sends to the one that started it. */
export const AGENT_MESSAGE = '<agent-message from="'

/** True for a message of an agent: a summary need not keep it word for word, unlike messages of people. */
export function isFromAgent({ role, content: [first] }: Message): boolean {
  if (role !== "user" || first?.type !== "text") return false
  return [AGENT_ENDED, AGENT_MESSAGE].some((start) => first.text.startsWith(start))
}
